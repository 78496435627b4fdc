import { REVOCATION_REASONS } from '@chancery/protocol'
import { usageError } from '../../errors/failure.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { pathOf, toHostArguments } from './maintenance.ts'

/** Runs `authority recover`: raises a restored database above its high-water mark. */
export async function runAuthorityRecover(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const sources = readSources(context, options)
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  if (sources === undefined) {
    const exitCode = await commands.recover({
      ...toHostArguments(context, options, ['--crl', '--feed', '--without-mark', '--unknown', '--reason']),
      withoutMark: options.isSet('without-mark'),
      ...(crl === undefined ? {} : { crl }),
      ...(feed === undefined ? {} : { feed }),
    })
    return { exitCode }
  }
  if ((crl ?? feed) !== undefined || options.isSet('without-mark'))
    throw usageError(
      '--presented, --audit and --certificates cannot be combined with --crl, --feed and --without-mark.',
      'Recover first. Then run the command with --presented, --audit or --certificates.',
    )
  const own = ['--audit', '--certificates', '--unknown', '--reason']
  return { exitCode: await commands.recoverUnknown({ ...toHostArguments(context, options, own), ...sources }) }
}

const ACTIONS = ['list', 'revoke', 'adopt'] as const

/** Returns the records to compare the database with, or undefined without such options. */
function readSources(context: CommandContext, options: Options) {
  const [audit, certificates] = [pathOf(context, options, 'audit'), pathOf(context, options, 'certificates')]
  const presented = options.isSet('presented')
  if (audit === undefined && certificates === undefined && !presented) return undefined
  const action = options.textOrDefault('unknown')
  const unknown = ACTIONS.find((each) => each === action)
  if (unknown === undefined) throw usageError(`--unknown must be one of ${ACTIONS.join(', ')}.`)
  const word = options.textOrDefault('reason')
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw usageError(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return {
    unknown,
    reason,
    presented,
    ...(audit === undefined ? {} : { audit }),
    ...(certificates === undefined ? {} : { certificates }),
  }
}
