import { SECOND } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import type { IssuerStanding } from '../../trust/snapshot.ts'
import { checkReadiness, isReady } from './readiness.ts'

/** Numbers that are read when somebody asks for them (protocol/gateway 10). */
export function registerGauges(office: Office): void {
  const { registry } = office.metrics
  registry.gauge({
    name: 'gateway_crypto_active',
    help: 'Permits for cryptography in use.',
    collect: () => office.permits.active,
  })
  registry.gauge({
    name: 'gateway_ready',
    help: 'Whether /ready says yes.',
    collect: async () => (isReady(await checkReadiness(office)) ? 1 : 0),
  })
  registerListRows(office)
  if (office.state !== undefined) registerStateGauges(office, office.state)
}

function registerListRows(office: Office): void {
  const { registry } = office.metrics
  const labels = ['network', 'issuer']
  const standings = () => [...(office.book?.current.standings.values() ?? [])]
  registry.rows({
    name: 'gateway_crl_sequence',
    help: 'Sequence of the list in force.',
    kind: 'gauge',
    labels,
    collect: () =>
      standings().map(({ policy: { network, issuer }, mark }) => ({
        labels: { network, issuer },
        value: mark.sequence,
      })),
  })
  registry.rows({
    name: 'gateway_crl_expires_in_seconds',
    help: 'Time until the list in force ends; negative when it has.',
    kind: 'gauge',
    labels,
    collect: () =>
      standings().map(({ policy: { network, issuer }, mark }) => ({
        labels: { network, issuer },
        value: Number((mark.nextUpdate - office.clock.now()) / SECOND),
      })),
  })
  registerSizeRows(office)
  registry.rows({
    name: 'gateway_crl_refresh_total',
    help: 'Attempts to refresh a list, by what became of them.',
    kind: 'counter',
    labels: [...labels, 'outcome'],
    collect: () => office.record.rows(),
  })
  registry.rows({
    name: 'gateway_crl_equivocations_total',
    help: 'Lists that prove an authority signed two histories.',
    kind: 'counter',
    labels: [],
    collect: () => [{ labels: {}, value: office.record.equivocations }],
  })
}

/** How near lists are to the bound of this reader. */
function registerSizeRows(office: Office): void {
  const { registry } = office.metrics
  const perIssuer = (name: string, help: string, value: (standing: IssuerStanding) => number): void => {
    const collect = () =>
      [...(office.book?.current.standings.values() ?? [])].map((standing) => {
        const { network, issuer } = standing.policy
        return { labels: { network, issuer }, value: value(standing) }
      })
    registry.rows({ name, help, kind: 'gauge', labels: ['network', 'issuer'], collect })
  }
  perIssuer('gateway_crl_bytes', 'Size of the list in force.', ({ body }) => body.length)
  perIssuer('gateway_crl_entries', 'Certificates that the list in force names.', ({ index }) => index.listed)
  perIssuer(
    'gateway_crl_unread_sequence',
    'Sequence of a newer list that is proven and cannot be read, 0 without one.',
    ({ unread }) => unread?.sequence ?? 0,
  )
  perIssuer(
    'gateway_crl_suspect',
    'Whether the issuer signed two histories and no operator has cleared it.',
    ({ isSuspect }) => (isSuspect ? 1 : 0),
  )
  registry.gauge({
    name: 'gateway_crl_max_bytes',
    help: 'GATEWAY_MAX_LIST_BYTES: a larger list is not read.',
    collect: () => office.settings.maxListBytes,
  })
}

function registerStateGauges(office: Office, state: NonNullable<Office['state']>): void {
  const { registry } = office.metrics
  const gauge = (name: string, help: string, collect: () => number): void => {
    registry.gauge({ name, help, collect })
  }
  gauge('gateway_audit_pending', 'Audit events no collector has acknowledged.', () => state.usage.pending)
  gauge('gateway_state_bytes', 'Size of the state file.', () => state.usage.bytes)
  gauge('gateway_state_capacity_bytes', 'Size the state file may have.', () => office.settings.stateMaxBytes)
  gauge('gateway_audit_oldest_pending_seconds', 'Age of the oldest event not acknowledged.', () => {
    const { oldestPendingAt } = state.usage
    return oldestPendingAt === undefined ? 0 : Number((office.clock.now() - oldestPendingAt) / SECOND)
  })
}
