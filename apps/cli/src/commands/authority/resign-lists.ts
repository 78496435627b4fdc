import { readInstant } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { Result } from '../../output/result.ts'
import { toHostArguments } from './maintenance.ts'

/** Runs `authority resign-lists`: signs lists again that a wrong clock dated in the future. */
export async function runAuthorityResignLists(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const now = readInstant(options.required('now'))
  if (now === undefined)
    throw usageError(
      '--now is not a time in ISO 8601.',
      'Give the present time from another clock: --now 2026-05-01T12:00:00Z',
    )
  return { exitCode: await commands.resignLists({ ...toHostArguments(context, options, ['--now']), now }) }
}
