import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { findSettings } from '../authority/find-settings.ts'
import { report } from './report.ts'

/** Runs `doctor`: lists problems of a deployment with their fixes, the most severe first. */
export async function runDoctor(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const url = options.text('public-url')
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw usageError('--public-url must be an http or https address.')
  const { flags, envFile } = await findSettings(context, options)
  const own = Object.fromEntries(Object.entries(flags).filter(([flag]) => flag !== '--public-url'))
  const { commands } = await import('@chancery/authority')
  const findings = await withProgress(context, 'Looking at the deployment', () =>
    commands.diagnose({
      flags: own,
      ...(envFile === undefined ? {} : { envFile }),
      ...(url === undefined ? {} : { url }),
    }),
  )
  return report(findings, context.style)
}
