import { SECOND } from '@chancery/protocol'
import { type OperationsParts, checkReadiness, isReady } from './readiness.ts'
import { forecast } from '../../state/usage.ts'
import { type IssuerState, isNetworkUsable } from '../../trust/snapshot.ts'

/** Registers the metrics that are computed on each scrape (protocol/gateway 10). */
export function registerGauges(parts: OperationsParts): void {
  const { registry } = parts.metrics
  registry.readGauges({
    gateway_ready: [
      '1 when /ready returns 200; with several workers, when one of them returns it.',
      async () => Number(isReady(await checkReadiness(parts))),
      'max',
    ],
  })
  registry.rows({
    name: 'gateway_network_ready',
    help: '1 while the primary revocation list of the network is usable; otherwise its certificates are refused.',
    kind: 'gauge',
    labels: ['network'],
    collect: () => {
      const snapshot = parts.trust?.current
      const now = parts.clock.now()
      return [...(snapshot?.policy.networks.values() ?? [])].map((network) => ({
        labels: { network: network.name },
        value: snapshot !== undefined && isNetworkUsable(snapshot, network, now) ? 1 : 0,
      }))
    },
  })
  registerListRows(parts)
  if (parts.state !== undefined) registerStateGauges(parts, parts.state)
}

function registerListRows(parts: OperationsParts): void {
  const { registry } = parts.metrics
  const perIssuer = (name: string, help: string, value: (issuerState: IssuerState) => number): void => {
    const collect = () =>
      [...(parts.trust?.current.issuers.values() ?? [])].map((issuerState) => {
        const { network, issuer } = issuerState.policy
        return { labels: { network, issuer }, value: value(issuerState) }
      })
    registry.rows({ name, help, kind: 'gauge', labels: ['network', 'issuer'], collect })
  }
  perIssuer('gateway_crl_sequence', 'Sequence of the current list.', ({ position }) => position.sequence)
  perIssuer(
    'gateway_crl_expires_in_seconds',
    'Time until the current list expires; negative after that.',
    ({ position }) => Number((position.nextUpdate - parts.clock.now()) / SECOND),
  )
  perIssuer('gateway_crl_bytes', 'Size of the current list.', ({ body }) => body.length)
  perIssuer('gateway_crl_entries', 'Number of certificates in the current list.', ({ index }) => index.listed)
  perIssuer(
    'gateway_crl_unread_sequence',
    'Sequence of a verified newer list that cannot be read; 0 without one.',
    ({ unread }) => unread?.sequence ?? 0,
  )
  perIssuer(
    'gateway_crl_suspect',
    '1 when the issuer signed two different lists with one sequence and no operator has cleared it.',
    ({ isSuspect }) => Number(isSuspect),
  )
  registry.readGauges({
    gateway_crl_max_bytes: ['GATEWAY_MAX_LIST_BYTES: a larger list is not read.', () => parts.settings.maxListBytes],
  })
  registry.rows({
    name: 'gateway_crl_refresh_total',
    help: 'Attempts to refresh a list, by result.',
    kind: 'counter',
    labels: ['network', 'issuer', 'outcome'],
    collect: () => parts.refreshResults.rows(),
  })
  registry.rows({
    name: 'gateway_crl_equivocations_total',
    help: 'Lists that prove that an authority signed two different lists with one sequence.',
    kind: 'counter',
    labels: [],
    collect: () => [{ labels: {}, value: parts.refreshResults.equivocations }],
  })
}

function registerStateGauges(parts: OperationsParts, state: NonNullable<OperationsParts['state']>): void {
  const { registry } = parts.metrics
  registry.readGauges({
    gateway_audit_pending: ['Audit events that the collector has not acknowledged.', () => state.usage.pending],
    gateway_state_bytes: ['Size of the state file.', () => state.usage.bytes],
    gateway_state_used_bytes: ['Size of the state file without free pages.', () => state.usage.usedBytes],
    gateway_state_capacity_bytes: ['Maximum size of the state file.', () => parts.settings.stateMaxBytes],
    gateway_audit_oldest_pending_seconds: [
      'Age of the oldest unacknowledged event.',
      () => {
        const { oldestPendingAt } = state.usage
        return oldestPendingAt === undefined ? 0 : Number((parts.clock.now() - oldestPendingAt) / SECOND)
      },
    ],
  })
  registry.rows({
    name: 'gateway_state_full_in_seconds',
    help: 'Time until the state is full at the rate of the last day; no row when it does not become full.',
    kind: 'gauge',
    labels: [],
    collect: () => {
      const now = parts.clock.now()
      const { fullAt } = forecast(state.usage, parts.settings, now)
      return fullAt === undefined ? [] : [{ labels: {}, value: Number((fullAt - now) / SECOND) }]
    },
  })
}
