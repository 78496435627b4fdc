import { Refusal } from '@chancery/contract'
import type { Reader } from '../../database/database.ts'
import { EvidenceRefused, findAdmittingRule } from '../admission/index.ts'
import type { EvidenceVerdict, VerifiedEvidence } from '../admission/index.ts'

/**
 * The evidence of a renewal. A certificate that came from evidence needs fresh evidence of the same rule; one that came
 * from an invite takes none.
 */
export async function matchEvidence(
  db: Reader,
  cert_id: string,
  verdict: EvidenceVerdict | undefined,
): Promise<VerifiedEvidence | 'evidence_required' | undefined> {
  const rule_id = await findAdmittingRule(db, cert_id)
  if (rule_id === undefined) {
    if (verdict !== undefined) throw new Refusal('unexpected_field', { fields: ['evidence'] })
    return undefined
  }
  if (verdict === undefined) return 'evidence_required'
  if (!verdict.ok) throw new EvidenceRefused(verdict.reason)
  if (verdict.evidence.rule.rule_id !== rule_id) throw new EvidenceRefused('other_rule')
  return verdict.evidence
}
