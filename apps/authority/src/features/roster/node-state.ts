import type { NodeState } from '@chancery/contract'
import { DAY, type Instant, seconds, writeSortable } from '@chancery/protocol'

/** Times that decide the state of a node, as stored texts. */
export interface Moment {
  readonly now: string
  /** A heartbeat at or before it is too old. */
  readonly silentUntil: string
  /** A certificate that ends at or before it is in the state ends_soon. */
  readonly endsSoonUntil: string
}

/** `windowSeconds`: how long after its last heartbeat a node is active. */
export function momentOf(now: Instant, windowSeconds: number): Moment {
  return {
    now: writeSortable(now),
    silentUntil: writeSortable(now - seconds(windowSeconds)),
    endsSoonUntil: writeSortable(now + DAY),
  }
}

export interface StateFacts {
  readonly status: string
  readonly revoke_after: string | null
  readonly expires_at: string
  readonly last_heartbeat: string | null
}

/** The state of a node by its newest certificate: how the certificate ended, else what needs a look first. */
export function nodeState(facts: StateFacts, { now, silentUntil, endsSoonUntil }: Moment): NodeState {
  if (facts.status === 'revoked') return 'revoked'
  if (facts.revoke_after !== null && facts.revoke_after <= now) return 'superseded'
  if (facts.expires_at <= now) return 'expired'
  if (facts.last_heartbeat === null || facts.last_heartbeat <= silentUntil) return 'silent'
  return facts.expires_at <= endsSoonUntil ? 'ends_soon' : 'active'
}
