import type { NetworkFinding } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import { findSettingsFile } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { type Result, withProgress } from '../../output/screen.ts'
import { describeSettings, report } from './report.ts'

/** The service in the folder of the target, with its settings file; else the one that the environment configures. */
async function findService(
  context: CommandContext,
  options: Options,
): Promise<{ readonly kind: 'authority' | 'gateway'; readonly envFile?: string }> {
  const gateway = await findSettingsFile(context, options, 'gateway.env')
  if (gateway !== undefined && !gateway.endsWith('authority.env') && /gateway/.test(gateway))
    return { kind: 'gateway', envFile: gateway }
  const authority = await findSettingsFile(context, options, 'authority.env')
  if (authority !== undefined) return { kind: 'authority', envFile: authority }
  const { env } = context
  if ((env['GATEWAY_POLICY_FILE'] ?? '') !== '') return { kind: 'gateway' }
  if ((env['GENESIS_FILE'] ?? '') !== '') return { kind: 'authority' }
  throw usageError(
    'No authority and no gateway is selected.',
    'Select one: chancery use ./folder. Or give its folder with --home.',
  )
}

/** Runs `doctor`: lists problems of a deployment with their fixes, the most severe first. */
export async function runDoctor(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const url = options.text('public-url')
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw usageError('--public-url must be an http or https address.')
  if (options.isSet('remote')) return askAuthority(context, options)
  const { kind, ...place } = await findService(context, options)
  if (kind === 'gateway') return checkGateway(context, place.envFile, options.isSet('offline'))
  const { commands } = await import('@chancery/authority')
  const findings = await withProgress(context, 'Looking at the deployment', () =>
    commands.diagnose({ flags: {}, ...place, ...(url === undefined ? {} : { url }) }),
  )
  return report(findings, context.style)
}

/** Offline it asks no address, so a gateway that is stopped on purpose is no finding. */
async function checkGateway(context: CommandContext, envFile: string | undefined, offline: boolean): Promise<Result> {
  const { commands } = await import('@chancery/gateway')
  const findings = await withProgress(context, 'Looking at the gateway', () => commands.diagnose(envFile, { offline }))
  const shown = offline ? findings.filter(({ check }) => check !== 'ready') : findings
  return report(shown, context.style)
}

const UNCHECKED = 'the authority could not check it'

/** Asks a running authority for what doctor would find in its database. */
async function askAuthority(context: CommandContext, options: Options): Promise<Result> {
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

/** Runs `settings`: prints each setting of a service with its value and its origin. */
export async function runSettings(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { kind, ...place } = await findService(context, options)
  const explained =
    kind === 'gateway'
      ? await (await import('@chancery/gateway')).commands.explainSettings(place.envFile)
      : await (await import('@chancery/authority')).commands.explainSettings({ flags: {}, ...place })
  return describeSettings(explained, options.isSet('changed'), context.style)
}
