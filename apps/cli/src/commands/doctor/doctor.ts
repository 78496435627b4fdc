import type { CommandContext } from '../../context.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeSettings, report } from './report.ts'
import type { NetworkFinding } from '@chancery/sdk/authority'
import { connectAsOperator, findConfig } from '../../connection/connection.ts'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type StartArguments, toStartArguments } from '../authority/start.ts'

/**
 * The settings of the options, else those of the configured authority. The environment of a service names its settings
 * itself; only an explicit --config counts there.
 */
export async function findSettings(context: CommandContext, options: Options): Promise<StartArguments> {
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

const UNCHECKED = 'the authority could not check it'

/** Runs `findings`: asks a running authority for what doctor would find in its database. */
export async function runFindings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const { findings, count, ...rest } = await connection.ask((client) => client.findings.list())
  const skipped = (rest.not_checked ?? []).map((check) => ({ check, status: 'skipped', found: UNCHECKED }) as const)
  const { data, text, exitCode } = report([...findings.map(toFinding), ...skipped], context.style)
  const more = count > findings.length ? `\n${count - findings.length} more are not listed.` : ''
  return { data: { ...data, ...rest, count }, text: `${text}${more}`, exitCode }
}

function toFinding({ check, status, found, fix, effect, about, at }: NetworkFinding): Parameters<typeof report>[0][0] {
  return {
    check,
    status: status === 'bad' ? 'bad' : 'warn',
    found,
    fix,
    ...(effect === null ? {} : { effect }),
    ...(about === null ? {} : { about }),
    ...(at === null ? {} : { at }),
  }
}

/** Runs `settings`: prints each setting of an authority with its value and its origin. */
export async function runSettings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const args = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  return describeSettings(await commands.explainSettings(args), options.isSet('changed'), context.style)
}
