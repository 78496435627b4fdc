import { instantOf, treatyLifecycle } from '@chancery/protocol'
import type { ExpiryRisk, Instant, LifecycleState, TreatyFact, TreatyLifecycle } from '@chancery/protocol'
import { toDisplay } from '../../pages/display-time.ts'

export type TreatySummary = {
  readonly total: number
  readonly active: number
  readonly expiring_soon: number
  readonly expired: number
  readonly revoked: number
  readonly replaced: number
  readonly warning_count: number
}

export type TreatyRow = {
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
  readonly status: string
  readonly lifecycle_state: LifecycleState
  readonly expiry_risk: ExpiryRisk
  readonly valid_from: string
  readonly expires_at: string
  readonly valid_from_display: string
  readonly expires_at_display: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

export type TreatyTable = { readonly summary: TreatySummary; readonly rows: readonly TreatyRow[] }

/** Maximum number of rows on a page. The rest is in /recognition-treaties. */
const MAX_ROWS = 1000

const RISK_ORDER: readonly ExpiryRisk[] = ['high', 'expired', 'medium', 'low', 'none']

/** Treaties by the time of their end, and counts per state (protocol/core 20.5). Pure, built with the graph. */
export function buildTreatyTable(facts: readonly TreatyFact[], now: Instant): TreatyTable {
  const checked = facts.map((fact) => ({ fact, lifecycle: treatyLifecycle(fact, now) }))
  checked.sort(
    (a, b) => riskRank(a.lifecycle) - riskRank(b.lifecycle) || compareInstants(a.fact.expires_at, b.fact.expires_at),
  )
  const count = (state: string): number => checked.filter((each) => each.lifecycle.state === state).length
  const [expiring, expired] = [count('expiring_soon'), count('expired')]
  const summary = {
    total: checked.length,
    active: count('active'),
    expiring_soon: expiring,
    expired,
    revoked: count('revoked'),
    replaced: count('replaced'),
    warning_count: expiring + expired,
  }
  const rows = checked.slice(0, MAX_ROWS).map(({ fact, lifecycle }) => ({
    treaty_id: fact.treaty_id,
    issuer_sovereign_id: fact.issuer_sovereign_id,
    subject_sovereign_id: fact.subject_sovereign_id,
    status: fact.status,
    lifecycle_state: lifecycle.state,
    expiry_risk: lifecycle.expiry_risk,
    valid_from: fact.valid_from,
    expires_at: fact.expires_at,
    valid_from_display: toDisplay(fact.valid_from),
    expires_at_display: toDisplay(fact.expires_at),
    revoked_at: fact.revoked_at,
    revocation_reason: fact.revocation_reason,
  }))
  return { summary, rows }
}

function riskRank(lifecycle: TreatyLifecycle): number {
  return RISK_ORDER.indexOf(lifecycle.expiry_risk)
}

function compareInstants(a: string, b: string): number {
  return Number(instantOf(a) - instantOf(b))
}
