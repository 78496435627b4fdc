import type { AdmissionParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import type { EvidenceReason, VerifiedEvidence } from './evidence.ts'
import { countJoin, insertAdmitted, lockRule, useEvidence } from './queries.ts'
import { isInForce } from './rules.ts'

/** Evidence was verified and is refused by what is stored. Thrown, so that the transaction leaves nothing behind. */
export class EvidenceRefusedError extends Error {
  override readonly name = 'EvidenceRefusedError'
  readonly reason: EvidenceReason

  constructor(reason: EvidenceReason) {
    super(reason)
    this.reason = reason
  }
}

export interface Admitted {
  readonly cert_id: string
  readonly node_public_key: string
  readonly expires_at: string
}

/**
 * Spends evidence in the transaction that issues the certificate. The rule must still be the verified one and in force,
 * a join must be left, and the evidence must be new or of the same node key.
 */
export async function claimEvidence(
  tx: Transaction,
  parts: Pick<AdmissionParts, 'clock' | 'database'>,
  { rule, ruleText, evidenceKey, expiresAt, maxUses, former }: VerifiedEvidence,
  admitted: Admitted & { readonly isRenewal: boolean },
): Promise<void> {
  const locked = await lockRule(parts.database, tx, rule.rule_id, ruleText)
  const now = parts.clock.now()
  if (locked === undefined || !isInForce(rule, now)) throw new EvidenceRefusedError('rule_unavailable')
  // The key set or the lock may have taken a while.
  if (expiresAt <= now) throw new EvidenceRefusedError('expired')
  const { cert_id, node_public_key, expires_at, isRenewal } = admitted
  const used = await useEvidence(tx, evidenceKey, node_public_key, expiresAt)
  if (used.node_public_key !== node_public_key || used.uses > maxUses) throw new EvidenceRefusedError('evidence_used')
  if (!isRenewal) {
    if (rule.max_joins !== null && locked.joins >= rule.max_joins) throw new EvidenceRefusedError('joins_exhausted')
    await countJoin(tx, rule.rule_id, locked.joins + 1)
  }
  // The next certificate of a node from an invite is renewed without evidence, as its former one was.
  if (former === undefined) await insertAdmitted(tx, { cert_id, rule_id: rule.rule_id, expires_at })
  // Last, as in a removal. Without it a restored backup that lacks only joins or used evidence would not be detected.
  await tx.raiseVersion('admission')
}
