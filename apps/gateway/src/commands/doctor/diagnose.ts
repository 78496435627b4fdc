import { bad, checkWorkers, good, settingFindings, skipped, systemClock, warn } from '@chancery/service-kit'
import type { Clock, Finding, SettingsResult } from '@chancery/service-kit'
import { checkOnline } from '../../outbound/check-online.ts'
import { problemText } from '../../policy/configuration-error.ts'
import { type ConfigurationProblem, loadConfiguration } from '../../policy/load-configuration.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { checkClients, checkTls } from './check-credentials.ts'
import { checkInstance } from './check-instance.ts'
import { type StoredState, checkLists, readStoredState } from '../../startup/check-state.ts'

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
