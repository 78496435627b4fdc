import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { toStartArguments } from './start.ts'

/** Runs `authority rotate-key`: the next step of a succession, with the settings in use. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { flags, ...rest } = toStartArguments(context, options)
  const {
    '--next-key-id': keyId,
    '--next-genesis': genesis,
    '--next-history': history,
    '--yes': _yes,
    '--force': _force,
    ...settings
  } = flags
  const given = [keyId, genesis, history].filter((each) => typeof each === 'string')
  const [id = '', genesisFile = '', historyFile = ''] = given
  if (given.length !== 0 && given.length !== 3)
    throw usageError('Give --next-key-id, --next-genesis and --next-history together, at the first step.')
  const at = (path: string): string => resolve(context.cwd, path)
  const { commands } = await import('@chancery/authority')
  const exitCode = await commands.rotateKey({
    ...rest,
    flags: settings,
    isForced: options.isSet('force'),
    ...(given.length === 0 ? {} : { next: { keyId: id, genesisFile: at(genesisFile), historyFile: at(historyFile) } }),
    // Without a terminal there is no answer, so nothing is changed.
    confirm: async (question) =>
      options.isSet('yes') || (context.isInteractive && (await context.prompts.confirm(question))),
  })
  return { exitCode }
}
