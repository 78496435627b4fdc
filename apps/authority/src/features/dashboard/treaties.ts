import { compareCodePoints, treatyLifecycle } from '@chancery/protocol'
import type { ExpiryRisk, Instant, JsonObject, TreatyLifecycle } from '@chancery/protocol'
import { toWireTime } from '../../paged-list.ts'
import type { Tx } from '../../store/database.ts'
import { listTreatyFacts } from '../connectome/index.ts'
import { toDisplay } from './display.ts'

export type TreatySummary = {
  readonly total: number
  readonly active: number
  readonly expiring_soon: number
  readonly expired: number
  readonly revoked: number
  readonly replaced: number
  readonly warning_count: number
}

const RISK_ORDER: readonly ExpiryRisk[] = ['high', 'expired', 'medium', 'low', 'none']

/** Treaties by how soon they need somebody, and how many stand how (protocol/core 20.5). */
export async function describeTreaties(
  db: Tx,
  now: Instant,
): Promise<{ readonly summary: TreatySummary; readonly rows: readonly JsonObject[] }> {
  const facts = (await listTreatyFacts(db)).map((row) => ({ ...row, revoked_at: toWireTime(row.revoked_at) }))
  const judged = facts.map((fact) => ({ fact, lifecycle: treatyLifecycle(fact, now) }))
  judged.sort(
    (a, b) => riskRank(a.lifecycle) - riskRank(b.lifecycle) || compareCodePoints(a.fact.expires_at, b.fact.expires_at),
  )
  const count = (state: string): number => judged.filter((each) => each.lifecycle.state === state).length
  const [expiring, expired] = [count('expiring_soon'), count('expired')]
  const summary = {
    total: judged.length,
    active: count('active'),
    expiring_soon: expiring,
    expired,
    revoked: count('revoked'),
    replaced: count('replaced'),
    warning_count: expiring + expired,
  }
  const rows = judged.map(({ fact, lifecycle }) => ({
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
