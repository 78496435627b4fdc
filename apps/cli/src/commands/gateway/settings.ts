import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeSettings } from '../doctor/settings-report.ts'

/** Runs `gateway settings`: prints each setting of a gateway with its value and its origin. */
export async function runGatewaySettings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  const explained = await commands.explainSettings(options.text('env-file'))
  return describeSettings(explained, options.isSet('changed'), context.style)
}
