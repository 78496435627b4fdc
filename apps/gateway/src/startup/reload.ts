import { toError } from '@chancery/service-kit'
import type { Instant } from '@chancery/protocol'
import type { CurrentAccess } from '../auth/current-access.ts'
import type { GatewayListener } from '../edge/server.ts'
import type { Core } from '../core.ts'
import { ConfigurationError, type LoadedFiles, loadFiles } from '../policy/load-files.ts'
import type { Configuration } from '../policy/load-configuration.ts'
import type { Policy } from '../policy/policy.ts'
import { keyChangeProblem } from '../policy/token-keys.ts'
import { type OpenedTrust, loadListsOrThrow } from '../trust/open-trust.ts'
import type { ListRefresher } from '../trust/refresh-lists.ts'
import { issuerKey } from '../trust/snapshot.ts'
import { operatorEvent } from '../audit/request-audit.ts'

export interface ReloadParts {
  readonly core: Core
  readonly access: CurrentAccess
  readonly listeners: readonly Pick<GatewayListener, 'replaceTls'>[]
  readonly refresher: ListRefresher
  readonly trust: OpenedTrust
  /** Called with the checked files before they are used. */
  readonly onLoaded?: (loaded: LoadedFiles) => void
}

/**
 * Reads every file again, checks it as at a start, and uses all of it together (protocol/gateway 3.9). A refused reload
 * changes nothing; it is logged and counted. Open requests finish with the previous files.
 */
export async function reload(parts: ReloadParts): Promise<void> {
  const { core } = parts
  let revision: string
  try {
    const { loaded, problems } = loadFiles(core.settings, core.clock.now())
    if (loaded === undefined) throw new ConfigurationError(problems)
    parts.onLoaded?.(loaded)
    const { configuration } = loaded
    await apply(configuration, parts)
    revision = configuration.policy.revision
  } catch (thrown) {
    core.metrics.reloads.with({ outcome: 'refused' }).increase()
    core.log.error('reload refused, nothing changed', { error: toError(thrown) })
    return
  }
  core.metrics.reloads.with({ outcome: 'applied' }).increase()
  core.log.info('configuration reloaded', { policy_revision: revision })
  await recordReload(core, revision)
}

/**
 * Records the reload in the audit. The configuration is already in use, so a failure is not reported as a refused
 * reload.
 */
async function recordReload(core: Core, revision: string): Promise<void> {
  try {
    await core.state?.append(operatorEvent('policy_reloaded', { policy_revision: revision }, core))
  } catch (thrown) {
    core.log.error('configuration reloaded, but not audited', { error: toError(thrown) })
  }
}

/** Resource servers keep key sets, so a new key is published before it signs, and a used one stays published. */
function requirePublishedKeys(before: Policy, { oauth }: Policy, now: Instant): void {
  if (before.oauth === undefined || oauth === undefined) return
  const message = keyChangeProblem(before.oauth.keys, oauth.keys, now)
  if (message !== undefined)
    throw new ConfigurationError([{ setting: 'GATEWAY_POLICY_FILE', path: 'oauth.signing_keys', message }])
}

async function apply(
  configuration: Configuration,
  { core, access, listeners, refresher, trust }: ReloadParts,
): Promise<void> {
  const { policy } = configuration
  requirePublishedKeys(trust.trust.current.policy, policy, core.clock.now())
  await trust.trust.replace(policy, (followed, current) =>
    loadListsOrThrow(
      followed,
      async ({ network, issuer }) =>
        current.issuers.get(issuerKey(network, issuer)) ?? (await core.state?.findStored(network, issuer)),
      trust.listWorker,
      core.clock,
    ),
  )
  access.replace(configuration)
  core.authorities.update(trust.trust.current.policy)
  if (configuration.tls !== undefined) for (const each of listeners) each.replaceTls(configuration.tls)
  refresher.startLoops()
}
