import { bad, checkWorkers, good, settingFindings, skipped, systemClock, warn } from '@chancery/service-kit'
import type { Clock, Finding, SettingsResult } from '@chancery/service-kit'
import { checkOnline } from '../../outbound/check-online.ts'
import { problemText } from '../../policy/load-files.ts'
import { type ConfigurationProblem, loadConfiguration } from '../../policy/load-configuration.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { type StoredState, checkLists, readStoredState } from '../../startup/check-state.ts'
import { X509Certificate } from 'node:crypto'
import { DAY, type Instant, JsonError, type JsonObject, isJsonObject, readJson, writeInstant } from '@chancery/protocol'
import type { Policy } from '../../policy/policy.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'

/** Long enough to issue a new credential before the old one expires. */
const WARN_BEFORE = 14n * DAY

/** Finds clients whose credential has expired or expires within 14 days. */
function checkClients({ clients }: Policy, now: Instant): readonly Finding[] {
  const found = clients.flatMap(({ id, expiresAt }): Finding[] => {
    if (expiresAt === undefined || expiresAt > now + WARN_BEFORE) return []
    const fix = `Give ${id} a new token (gateway token new) and a later expires_at; the policy may contain both digests.`
    if (expiresAt <= now) return [bad('credentials', `client ${id} ended at ${writeInstant(expiresAt)}`, fix)]
    return [warn('credentials', `client ${id} ends at ${writeInstant(expiresAt)}`, fix)]
  })
  return found.length > 0 ? found : [good('credentials', `${clients.length} clients`)]
}

/** Finds a certificate chain that expires within 14 days. An expired chain is found when the files are read. */
function checkTls(tls: TlsMaterial | undefined, now: Instant): Finding {
  if (tls === undefined) return good('tls', 'off: a proxy in front terminates TLS')
  const ends = firstEnd(tls.cert)
  if (ends > now + WARN_BEFORE) return good('tls', `until ${writeInstant(ends)}`)
  const fix = 'Renew it and send SIGHUP: new connections use the new certificate.'
  return warn('tls', `the certificate of the listener ends at ${writeInstant(ends)}`, fix)
}

function firstEnd(pem: string): Instant {
  const ends = [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].map(([block]) =>
    new X509Certificate(block).validToDate.getTime(),
  )
  return BigInt(Math.min(...ends)) * 1000n
}

const TIME_LIMIT_MS = 5000

export interface InstanceCheck {
  readonly finding: Finding
  /** Undefined when the request was not possible. */
  readonly isRunning: boolean | undefined
  /** Of a gateway that is ready. */
  readonly warnings?: unknown
}

/** Checks the gateway on this machine, as the load balancer does. */
export async function checkInstance({ address, tlsCertFile }: GatewaySettings): Promise<InstanceCheck> {
  // The listener requires a client certificate, and doctor has none.
  if (tlsCertFile !== undefined)
    return {
      finding: skipped('ready', 'not checked: the listener requires a client certificate'),
      isRunning: undefined,
    }
  const host = address.host === '0.0.0.0' ? '127.0.0.1' : address.host === '::' ? '::1' : address.host
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
  try {
    const response = await fetch(`${own}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
    const text = await response.text()
    if (response.status === 200 && !(await isGateway(own))) {
      const fix = 'Another program uses the port: find it, then start the gateway.'
      return { finding: bad('ready', `${own} is not a gateway`, fix), isRunning: false }
    }
    if (response.status === 200)
      return { finding: good('ready', own), isRunning: true, warnings: readObject(text)?.['warnings'] }
    const failed = readFailedChecks(text)
    const fix = 'See docs/operate/monitoring.md#gatewaynotready for each check, and the other findings.'
    const found = `${own} responds ${response.status}${failed === '' ? '' : `: ${failed}`}`
    return { finding: bad('ready', found, fix), isRunning: true }
  } catch {
    const fix = 'Start the gateway. Its first log lines show why it stops.'
    return { finding: bad('ready', `no response from ${own}`, fix), isRunning: false }
  }
}

async function isGateway(own: string): Promise<boolean> {
  const response = await fetch(`${own}/api`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
  return readObject(await response.text())?.['service'] === 'chancery-gateway'
}

/** Returns the failed checks in a refusal of /ready, or an empty text. */
function readFailedChecks(text: string): string {
  const details = readObject(text)?.['details']
  const checks = isJsonObject(details) ? details['checks'] : undefined
  if (!isJsonObject(checks)) return ''
  return Object.keys(checks)
    .filter((name) => checks[name] === false)
    .join(', ')
}

function readObject(text: string): JsonObject | undefined {
  try {
    const body = readJson(text)
    return isJsonObject(body) ? body : undefined
  } catch (error) {
    // Another program responds on this address.
    if (error instanceof JsonError) return undefined
    throw error
  }
}

export interface DoctorOptions {
  /** Does not call the addresses of the policy and the collector. */
  readonly offline?: boolean
  readonly clock?: Clock
}

/**
 * Checks the deployment of a gateway, next to the running one and without changing anything. Each finding has a fix. A
 * check that cannot run hides no other check.
 */
export async function diagnose(
  { values: settings, problems }: SettingsResult<GatewaySettings>,
  { offline = false, clock = systemClock }: DoctorOptions = {},
): Promise<readonly Finding[]> {
  if (settings === undefined) return settingFindings(problems, 'gateway')
  const understood = good('settings', 'all settings are valid')
  if (settings.development)
    return [
      understood,
      bad('mode', 'development mode: callers send their own trust inputs', 'Unset GATEWAY_DEVELOPMENT.'),
    ]
  const now = clock.now()
  const instance = await checkInstance(settings)
  const { state, findings } = readStoredState(settings, instance.isRunning, now)
  const { workers } = settings
  return [
    understood,
    ...(await checkFiles(settings, state, { offline, now })),
    ...findings,
    ...checkWorkers({ setting: 'GATEWAY_WORKERS', workers, warnings: instance.warnings }),
    instance.finding,
  ]
}

async function checkFiles(
  settings: GatewaySettings,
  state: StoredState | undefined,
  { offline, now }: { readonly offline: boolean; readonly now: bigint },
): Promise<readonly Finding[]> {
  const { configuration, problems, warnings } = loadConfiguration(settings, now)
  const found = [
    ...problems.map((problem) => bad(checkOf(problem), problemText(problem), fixOf(problem))),
    ...warnings.map((text) => warn('policy', text, 'Check this member in the policy file.')),
  ]
  if (configuration === undefined) return found
  const { policy, tls } = configuration
  const isPolicyGood = !found.some(({ check }) => check === 'policy')
  const unreachable = offline ? [] : await checkOnline(configuration, settings)
  return [
    ...found,
    ...(isPolicyGood ? [good('policy', `revision ${policy.revision}`)] : []),
    ...checkClients(policy, now),
    checkTls(tls, now),
    ...(await checkLists(policy, state, settings, now)),
    ...unreachable.map((problem) => bad('reachable', problemText(problem), REACH)),
    ...(offline ? [skipped('reachable', 'not checked with --offline')] : []),
    ...(!offline && unreachable.length === 0
      ? [good('reachable', 'all addresses of the policy and the collector')]
      : []),
  ]
}

const REACH = 'Check name resolution, firewall and root certificates on this machine.'

const CHECKS: readonly (readonly [RegExp, string])[] = [
  [/^GATEWAY_TLS_/, 'tls'],
  [/^GATEWAY_OIDC_/, 'oidc'],
  [/^GATEWAY_REDIS_/, 'quota'],
  [/^GATEWAY_(AUDIT|CA)_/, 'collector'],
]

function checkOf({ setting }: ConfigurationProblem): string {
  return CHECKS.find(([pattern]) => pattern.test(setting))?.[1] ?? 'policy'
}

function fixOf({ setting }: ConfigurationProblem): string {
  return `Fix the file of ${setting}, then gateway start --check-config.`
}
