import {
  type Check,
  DOCTOR_RULES,
  askService,
  bad,
  checkWorkers,
  good,
  ownOrigin,
  runChecks,
  settingFindings,
  skipped,
  systemClock,
  warn,
} from '@chancery/service-kit'
import type { Clock, Finding, SettingsResult } from '@chancery/service-kit'
import { checkOnline } from '../../outbound/check-online.ts'
import { problemText } from '../../policy/load-files.ts'
import { type Configuration, type ConfigurationProblem, loadConfiguration } from '../../policy/load-configuration.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { type StoredState, checkLists, readStoredState } from '../../startup/check-state.ts'
import { X509Certificate } from 'node:crypto'
import { DAY, type Instant, type JsonObject, isJsonObject, writeInstant } from '@chancery/protocol'
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
  const own = ownOrigin(address)
  const answer = await askService(`${own}/ready`)
  if (answer === undefined) {
    const fix = 'Start the gateway. Its first log lines show why it stops.'
    return { finding: bad('ready', `no response from ${own}`, fix), isRunning: false }
  }
  if (answer.status === 200 && (await askService(`${own}/api`))?.body?.['service'] !== 'chancery-gateway') {
    const fix = 'Another program uses the port: find it, then start the gateway.'
    return { finding: bad('ready', `${own} is not a gateway`, fix), isRunning: false }
  }
  if (answer.status === 200)
    return { finding: good('ready', own), isRunning: true, warnings: answer.body?.['warnings'] }
  const failed = readFailedChecks(answer.body)
  const fix = 'See docs/operate/monitoring.md#gatewaynotready for each check, and the other findings.'
  const found = `${own} responds ${answer.status}${failed === '' ? '' : `: ${failed}`}`
  return { finding: bad('ready', found, fix), isRunning: true }
}

/** Returns the failed checks in a refusal of /ready, or an empty text. */
function readFailedChecks(body: JsonObject | undefined): string {
  const details = body?.['details']
  const checks = isJsonObject(details) ? details['checks'] : undefined
  if (!isJsonObject(checks)) return ''
  return Object.keys(checks)
    .filter((name) => checks[name] === false)
    .join(', ')
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
  const { policy } = configuration
  if (!found.some(({ check }) => check === 'policy')) found.push(good('policy', `revision ${policy.revision}`))
  await runChecks(CONFIGURED, { ...configuration, settings, state, offline, now }, found, DOCTOR_RULES)
  return found
}

interface ConfiguredParts extends Configuration {
  readonly settings: GatewaySettings
  readonly state: StoredState | undefined
  readonly offline: boolean
  readonly now: Instant
}

const CONFIGURED: readonly Check<ConfiguredParts>[] = [
  { name: 'credentials', find: ({ policy, now }) => checkClients(policy, now) },
  { name: 'tls', find: ({ tls, now }) => checkTls(tls, now) },
  { name: 'lists', find: ({ policy, state, settings, now }) => checkLists(policy, state, settings, now) },
  { name: 'reachable', find: checkReachable },
]

async function checkReachable({ offline, settings, ...configuration }: ConfiguredParts): Promise<readonly Finding[]> {
  if (offline) return [skipped('reachable', 'not checked with --offline')]
  const unreachable = await checkOnline(configuration, settings)
  if (unreachable.length === 0) return [good('reachable', 'all addresses of the policy and the collector')]
  return unreachable.map((problem) => bad('reachable', problemText(problem), REACH))
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
