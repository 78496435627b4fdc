import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { report } from '../doctor/report.ts'

/** Runs `gateway doctor`: lists problems of a gateway with their fixes, the most severe first. */
export async function runGatewayDoctor(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  const findings = await withProgress(context, 'Looking at the gateway', () =>
    commands.diagnose(options.text('env-file'), { offline: options.isSet('offline') }),
  )
  return report(findings, context.style)
}
