import { Refusal } from '@chancery/contract'
import { SECOND, readInstant, sha256Hex, writeSortable } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { EvidenceRefusedError, findAdmittingRule, findRenewableRule } from '../admission/index.ts'
import type { Evidence, EvidenceVerdict, VerifiedEvidence } from '../admission/index.ts'
import type { EnrollmentParts } from './present.ts'

interface EvidenceRequest {
  readonly cert_id: string
  readonly node_public_key: string
  readonly evidence: Evidence | undefined
}

/**
 * Verifies the evidence of a renewal, before its transaction: the keys of the issuer may have to be read. Only for a
 * certificate that this key may renew by this rule, so that other keys cause no verification and no call.
 */
export async function verifyForRenewal(
  { admission, clock, database }: EnrollmentParts,
  { cert_id, node_public_key, evidence }: EvidenceRequest,
): Promise<EvidenceVerdict | undefined> {
  if (evidence === undefined) return undefined
  const renewed = { cert_id, node_public_key }
  const rule_id = await findRenewableRule(database.read, renewed, writeSortable(clock.now()))
  if (rule_id === evidence.rule_id) return admission.verifyEvidence(evidence, node_public_key)
  return { ok: false, reason: 'other_rule', digest: sha256Hex(evidence.token) }
}

export function digestOf(verdict: EvidenceVerdict | undefined): string | null {
  if (verdict === undefined) return null
  return verdict.ok ? verdict.evidence.digest : verdict.digest
}

/**
 * The evidence of a renewal. A certificate that came from evidence needs evidence of the same rule that was made after
 * it; one that came from an invite takes none.
 */
export async function matchEvidence(
  db: Reader,
  { cert_id, issued_at }: { readonly cert_id: string; readonly issued_at: string },
  verdict: EvidenceVerdict | undefined,
): Promise<VerifiedEvidence | 'evidence_required' | undefined> {
  const rule_id = await findAdmittingRule(db, cert_id)
  if (rule_id === undefined) {
    if (verdict !== undefined) throw new Refusal('unexpected_field', { fields: ['evidence'] })
    return undefined
  }
  if (verdict === undefined) return 'evidence_required'
  if (!verdict.ok) throw new EvidenceRefusedError(verdict.reason)
  const { rule, issuedAt } = verdict.evidence
  if (rule.rule_id !== rule_id) throw new EvidenceRefusedError('other_rule')
  // Tokens have whole seconds.
  const start = readInstant(issued_at)
  if (start === undefined || (issuedAt !== undefined && issuedAt < start - (start % SECOND)))
    throw new EvidenceRefusedError('not_fresh')
  return verdict.evidence
}
