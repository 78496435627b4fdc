import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findConfig } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { withProgress } from '../../output/progress.ts'
import { toStartArguments } from '../authority/start.ts'
import type { StartArguments } from '../authority/start.ts'
import { report } from './report.ts'

/** Runs `doctor`: lists problems of a deployment with their fixes, the most severe first. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
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

/**
 * The settings of the options, else those of the configured authority. The environment of a service names its settings
 * itself; only an explicit --config counts there.
 */
async function findSettings(context: CommandContext, options: Options): Promise<StartArguments> {
  const given = toStartArguments(context, options)
  const isService = (context.env['GENESIS_FILE'] ?? '') !== '' && !options.isSet('config')
  if (given.envFile !== undefined || isService) return given
  const { paths } = await findConfig(context, options)
  // The folder of a node has no authority.
  if (paths.na_private_key === undefined) return given
  const file = paths.home === undefined ? undefined : join(paths.home, 'authority.env')
  if (file !== undefined && existsSync(file)) return { ...given, envFile: file }
  const found = { '--genesis': paths.genesis, '--na-private-key': paths.na_private_key, '--db-path': paths.db }
  const known = Object.entries(found).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return { ...given, flags: { ...Object.fromEntries(known), ...given.flags } }
}
