import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { NodeSummary } from '@chancery/sdk/authority'
import type { IconName, Tone } from '../../parts/icons.ts'
import { absolute, duration } from '../../parts/duration.ts'
import { confirmedName } from '../../node-key.ts'
import { shortId } from '../../parts/short-id.ts'
import { eventActor, eventText } from '../../words/events.ts'
import { reasonText } from '../../words/reasons.ts'
import type { RevokedNode } from '../nodes/revoke.ts'

/** One event in the life of a node. */
export interface HistoryEvent {
  readonly at: string
  readonly title: string
  readonly text: string
  readonly icon: IconName
  readonly tone?: Tone
}

/** What the history needs of each certificate of the key. */
export interface HistoryCertificate {
  readonly cert_id: string
  readonly issued_at: string
  readonly expires_at: string
  readonly renewed_from: string | null
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  /** The signed record. */
  readonly certificate?: JsonValue
}

/** GET /admin/nodes/{key}, as far as the page shows it. */
export type NodeView = NodeSummary & {
  /** The newest ones. */
  readonly certificates: readonly HistoryCertificate[]
  readonly more_certificates: boolean
  readonly agent: { readonly agent_id: string; readonly registered_at: string } | null
  readonly invite: { readonly created_at: string; readonly created_by: string | null } | null
}

/** One redacted audit event. */
export interface AuditEvent {
  readonly event_type: string
  readonly created_at: string
  readonly details: JsonObject
}

/** Returns whether a certificate is neither revoked nor expired. */
export const isUsable = ({ revoked_at, expires_at }: HistoryCertificate, nowMs: number): boolean =>
  revoked_at === null && Date.parse(expires_at) > nowMs

/** Returns the certificate that the address names, or the newest one without a name. None when it is not listed. */
export function toRevoke(node: NodeView, chosen: string | null): RevokedNode | undefined {
  const cert_id = chosen ?? node.cert_id
  const isEarlier = cert_id !== node.cert_id
  if (isEarlier && !node.certificates.some((each) => each.cert_id === cert_id)) return undefined
  return { name: confirmedName(node), cert_id, isEarlier }
}

/** Shown from the certificates and the invite, which an authority stores longer than events. */
const FROM_RECORDS = new Set(['certificate_issued', 'certificate_renewed', 'certificate_revoked', 'invite_created'])
const REFUSED = /_(?:rejected|refused|failed|denied)$/

/** Returns what happened to a node, newest first. Heartbeats are not stored one by one. */
export function historyOf(node: NodeView, audited: readonly AuditEvent[], nowMs: number): readonly HistoryEvent[] {
  const renewed = new Set(node.certificates.map(({ renewed_from }) => renewed_from))
  const events = node.certificates.flatMap((certificate) => [
    issued(certificate, node.roles),
    ...ends(certificate, { isRenewed: renewed.has(certificate.cert_id), audited, nowMs }),
  ])
  const others = audited.filter(({ event_type }) => !FROM_RECORDS.has(event_type)).map(fromAudit)
  return [...liveness(node, nowMs), ...events, ...others, ...invited(node)].toSorted(
    (a, b) => Date.parse(b.at) - Date.parse(a.at),
  )
}

function fromAudit({ event_type, created_at, details }: AuditEvent): HistoryEvent {
  const isRefused = REFUSED.test(event_type)
  return {
    at: created_at,
    title: eventText(event_type, details).replace(/\.$/, ''),
    text: `${event_type}, by ${eventActor(event_type, details, '')}`,
    icon: isRefused ? 'close' : 'audit',
    ...(isRefused ? { tone: 'bad' } : {}),
  }
}

function invited({ invite, roles }: NodeView): readonly HistoryEvent[] {
  if (invite === null) return []
  const title = invite.created_by === null ? 'Invited' : `Invited by ${invite.created_by}`
  return [{ at: invite.created_at, title, text: `as ${roles.join(' and ')}`, icon: 'key' }]
}

function issued(certificate: HistoryCertificate, roles: readonly string[]): HistoryEvent {
  const { cert_id, renewed_from, issued_at, expires_at } = certificate
  const until = `valid until ${absolute(Date.parse(expires_at))}`
  if (renewed_from !== null)
    return {
      at: issued_at,
      title: 'Certificate renewed',
      text: `${shortId(cert_id)} replaces ${shortId(renewed_from)}, ${until}`,
      icon: 'tick',
    }
  return {
    at: issued_at,
    title: 'Joined',
    text: `as ${roles.join(' and ')} with certificate ${shortId(cert_id)}, ${until}`,
    icon: 'plus',
    tone: 'good',
  }
}

function ends(
  { cert_id, revoked_at, revocation_reason, expires_at }: HistoryCertificate,
  facts: { readonly isRenewed: boolean; readonly audited: readonly AuditEvent[]; readonly nowMs: number },
): readonly HistoryEvent[] {
  const revocation = facts.audited.find(
    ({ event_type, details }) => event_type === 'certificate_revoked' && details['cert_id'] === cert_id,
  )
  const by = revocation === undefined ? '' : ` by ${eventActor(revocation.event_type, revocation.details, '')}`
  if (revoked_at !== null)
    return [
      {
        at: revoked_at,
        title: `Revoked${by}`,
        text: `certificate ${shortId(cert_id)}: ${reasonText(revocation_reason ?? 'unspecified')}`,
        icon: 'close',
        tone: 'bad',
      },
    ]
  if (facts.isRenewed || Date.parse(expires_at) > facts.nowMs) return []
  return [
    {
      at: expires_at,
      title: 'Certificate ended',
      text: `${shortId(cert_id)} was not renewed`,
      icon: 'close',
      tone: 'watch',
    },
  ]
}

function liveness(node: NodeView, nowMs: number): readonly HistoryEvent[] {
  const events: HistoryEvent[] = []
  if (node.state === 'silent')
    events.push({
      at: new Date(nowMs).toISOString(),
      title: 'Silent',
      text: `No heartbeat for ${duration(nowMs - Date.parse(node.last_heartbeat ?? node.issued_at))}. The node is not revoked: it is accepted when it returns.`,
      icon: 'audit',
      tone: 'watch',
    })
  if (node.last_heartbeat !== null)
    events.push({
      at: node.last_heartbeat,
      title: `Last heartbeat${node.heartbeat_status === null ? '' : `: ${node.heartbeat_status}`}`,
      text: `${node.remote_addr === null ? '' : `from ${node.remote_addr}, `}with certificate ${shortId(node.cert_id)}`,
      icon: 'node',
    })
  return events
}

/** Returns the events by day in UTC, in their order. */
export function byDay(
  events: readonly HistoryEvent[],
): readonly (readonly [day: string, events: readonly HistoryEvent[]])[] {
  const days = new Map<string, HistoryEvent[]>()
  for (const event of events) {
    const day = event.at.slice(0, 10)
    days.set(day, [...(days.get(day) ?? []), event])
  }
  return [...days]
}
