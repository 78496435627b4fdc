import { REVOCATION_REASONS, readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { misuse } from '../../failure.ts'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { pathOf, toHostArguments } from './maintenance.ts'

/** authority recover: brings a restored database past its high-water mark, with the settings of the service. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  const datedAhead = readTold(options)
  if (datedAhead !== undefined && (options.text('crl') ?? options.text('feed')) !== undefined)
    throw misuse('--dated-ahead goes without --crl and --feed: it signs again what is stored.')
  const sources = readSources(context, options)
  if (sources !== undefined) {
    if (datedAhead !== undefined || options.text('crl') !== undefined || options.text('feed') !== undefined)
      throw misuse('--audit and --certificates go alone: recover first, then look at what is unknown.')
    const own = ['--audit', '--certificates', '--unknown', '--reason']
    return { exitCode: await commands.recoverUnknown({ ...toHostArguments(context, options, own), ...sources }) }
  }
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  const exitCode = await commands.recover({
    ...toHostArguments(context, options, ['--crl', '--feed', '--dated-ahead', '--unknown', '--reason']),
    ...(datedAhead === undefined ? {} : { datedAhead }),
    ...(crl === undefined ? {} : { crl }),
    ...(feed === undefined ? {} : { feed }),
  })
  return { exitCode }
}

const ACTIONS = ['list', 'revoke', 'adopt'] as const

/** Undefined when nothing is given to compare the database with. */
function readSources(context: CommandContext, options: Options) {
  const [audit, certificates] = [pathOf(context, options, 'audit'), pathOf(context, options, 'certificates')]
  if (audit === undefined && certificates === undefined) return undefined
  const action = options.textOrDefault('unknown')
  const unknown = ACTIONS.find((each) => each === action)
  if (unknown === undefined) throw misuse(`--unknown must be one of ${ACTIONS.join(', ')}.`)
  const word = options.textOrDefault('reason')
  const reason = REVOCATION_REASONS.find((each) => each === word)
  if (reason === undefined) throw misuse(`--reason must be one of ${REVOCATION_REASONS.join(', ')}.`)
  return {
    unknown,
    reason,
    ...(audit === undefined ? {} : { audit }),
    ...(certificates === undefined ? {} : { certificates }),
  }
}

function readTold(options: Options): Instant | undefined {
  const given = options.text('dated-ahead')
  const told = given === undefined ? undefined : readInstant(given)
  if (given !== undefined && told === undefined)
    throw misuse('--dated-ahead takes the present time as another clock shows it, such as 2026-05-01T12:00:00Z.')
  return told
}
