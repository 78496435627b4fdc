import { toError } from '@chancery/service-kit'
import type { HeldAccess } from './auth/held-access.ts'
import type { Edge } from './edge/server.ts'
import type { Office } from './office.ts'
import { ConfigurationRefused } from './policy/configuration-refused.ts'
import { loadConfiguration } from './policy/load-configuration.ts'
import type { Configuration } from './policy/load-configuration.ts'
import { establishOrRefuse } from './trust/open-trust.ts'
import type { OpenedTrust } from './trust/open-trust.ts'
import type { ListRefresher } from './trust/refresh-lists.ts'
import { standingKey } from './trust/snapshot.ts'
import { operatorEvent } from './trust/trust-book.ts'

export interface ReloadParts {
  readonly office: Office
  readonly held: HeldAccess
  readonly edge: Edge
  readonly refresher: ListRefresher
  readonly trust: OpenedTrust
}

/**
 * Reads every file again, checks it as at a start, and puts all of it in force together (protocol/gateway 3.9). A
 * refused reload changes nothing; it is logged and counted. Requests under way end as they began.
 */
export async function reload(parts: ReloadParts): Promise<void> {
  const { office } = parts
  let revision: string
  try {
    const { configuration, problems } = loadConfiguration(office.settings, office.clock.now())
    if (configuration === undefined) throw new ConfigurationRefused(problems)
    await apply(configuration, parts)
    revision = configuration.policy.revision
  } catch (thrown) {
    office.metrics.reloads.with({ outcome: 'refused' }).increase()
    office.log.error('reload refused, nothing changed', { error: toError(thrown) })
    return
  }
  office.metrics.reloads.with({ outcome: 'applied' }).increase()
  office.log.info('configuration reloaded', { policy_revision: revision })
  await recordReload(office, revision)
}

/** It is in force by now: a failure to record it must not be told as a refusal. */
async function recordReload(office: Office, revision: string): Promise<void> {
  try {
    await office.state?.append(operatorEvent('policy_reloaded', { policy_revision: revision }, office))
  } catch (thrown) {
    office.log.error('configuration reloaded, but the audit does not hold it', { error: toError(thrown) })
  }
}

async function apply(
  configuration: Configuration,
  { office, held, edge, refresher, trust }: ReloadParts,
): Promise<void> {
  const { policy } = configuration
  await trust.book.replace(policy, (current) =>
    establishOrRefuse(
      policy,
      async ({ network, issuer }) =>
        current.standings.get(standingKey(network, issuer)) ?? (await office.state?.findStored(network, issuer)),
      trust.desk,
      office.clock,
    ),
  )
  held.replace(configuration)
  office.authorities.follow(policy)
  if (configuration.tls !== undefined) edge.replaceTls(configuration.tls)
  refresher.follow()
}
