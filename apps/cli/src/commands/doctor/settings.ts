import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findSettings } from '../authority/find-settings.ts'
import { describeSettings } from './settings-report.ts'

/** Runs `settings`: prints each setting of an authority with its value and its origin. */
export async function runSettings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const args = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  return describeSettings(await commands.explainSettings(args), options.isSet('changed'), context.style)
}
