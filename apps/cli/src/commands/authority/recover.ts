import { misuse } from '../../failure.ts'
import type { CommandContext, Result } from '../../context.ts'
import type { Arguments, Options } from '../../options.ts'
import { pathOf, toHostArguments } from './maintenance.ts'

/** authority recover: brings a restored database past its high-water mark, with the settings of the service. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/authority')
  if (options.isSet('dated-ahead') && (options.text('crl') ?? options.text('feed')) !== undefined)
    throw misuse('--dated-ahead goes without --crl and --feed: it signs again what is stored.')
  const [crl, feed] = [pathOf(context, options, 'crl'), pathOf(context, options, 'feed')]
  const exitCode = await commands.recover({
    ...toHostArguments(context, options, ['--crl', '--feed', '--dated-ahead']),
    datedAhead: options.isSet('dated-ahead'),
    ...(crl === undefined ? {} : { crl }),
    ...(feed === undefined ? {} : { feed }),
  })
  return { exitCode }
}
