import { HOUR, type Instant, SECOND } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'

export const LIFECYCLE_STATES = ['active', 'expiring_soon', 'expired', 'revoked', 'replaced'] as const
export type LifecycleState = (typeof LIFECYCLE_STATES)[number]
export const EXPIRY_RISKS = ['none', 'low', 'medium', 'high', 'expired'] as const
export type ExpiryRisk = (typeof EXPIRY_RISKS)[number]

/** What the store knows of a treaty besides the signed record. */
export interface TreatyRecordState {
  readonly status: string
  readonly expires_at: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

/** Derived, never signed (protocol/core 15.3). */
export type TreatyLifecycle = {
  readonly state: LifecycleState
  readonly expiry_risk: ExpiryRisk
  readonly seconds_until_expiry: number | null
  readonly expires_at: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly replacement_treaty_id: string | null
}

const WARNING = 72n * HOUR
const HIGH_RISK = 24n * HOUR

export function treatyLifecycle(treaty: TreatyRecordState, now: Instant): TreatyLifecycle {
  const { expires_at, revoked_at, revocation_reason } = treaty
  const copied = { expires_at, revoked_at, revocation_reason }
  if (treaty.status === 'revoked') {
    const replacement = replacementOf(revocation_reason)
    const state = replacement === null ? ('revoked' as const) : ('replaced' as const)
    return { state, expiry_risk: 'none', seconds_until_expiry: null, ...copied, replacement_treaty_id: replacement }
  }
  const left = instantOf(expires_at) - now
  const seconds = left > 0n ? Number(left / SECOND) : 0
  return { ...stateFor(left), seconds_until_expiry: seconds, ...copied, replacement_treaty_id: null }
}

function stateFor(left: Instant): { state: LifecycleState; expiry_risk: ExpiryRisk } {
  if (left < SECOND) return { state: 'expired', expiry_risk: 'expired' }
  if (left <= HIGH_RISK) return { state: 'expiring_soon', expiry_risk: 'high' }
  if (left <= WARNING) return { state: 'expiring_soon', expiry_risk: 'medium' }
  return { state: 'active', expiry_risk: 'low' }
}

/** `replaced_by:<id>` or `renewed_by:<id>` with something behind the colon. */
function replacementOf(reason: string | null): string | null {
  const match = /^(?:replaced_by|renewed_by):(.+)$/s.exec(reason ?? '')
  return match?.[1] ?? null
}

export function isActiveState(state: LifecycleState): boolean {
  return state === 'active' || state === 'expiring_soon'
}

/** When the lifecycle or risk of an unrevoked treaty next changes by itself; undefined when never again. */
export function nextBoundary(state: TreatyRecordState, now: Instant): Instant | undefined {
  if (state.status === 'revoked') return undefined
  const end = instantOf(state.expires_at)
  return [end - WARNING, end - HIGH_RISK, end - SECOND + 1n].find((at) => at > now)
}
