import { readInstant } from '@chancery/protocol'
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
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  const exitCode = await commands.recover({
    ...toHostArguments(context, options, ['--crl', '--feed', '--dated-ahead']),
    ...(datedAhead === undefined ? {} : { datedAhead }),
    ...(crl === undefined ? {} : { crl }),
    ...(feed === undefined ? {} : { feed }),
  })
  return { exitCode }
}

function readTold(options: Options): Instant | undefined {
  const given = options.text('dated-ahead')
  const told = given === undefined ? undefined : readInstant(given)
  if (given !== undefined && told === undefined)
    throw misuse('--dated-ahead takes the present time as another clock shows it, such as 2026-05-01T12:00:00Z.')
  return told
}
