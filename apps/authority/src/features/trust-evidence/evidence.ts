import type { RefusalCode } from '@chancery/contract'
import { draftTrustEvidence, trustEvidenceForm } from '@chancery/protocol'
import type { Instant, TrustEvidence, TrustFinding } from '@chancery/protocol'
import type { TrustEvidenceParts } from './parts.ts'

export interface EvidenceFacts {
  readonly finding: TrustFinding
  readonly graph_digest: string
  readonly issuer_sovereign_id: string
  readonly now: Instant
}

/** Signs a finding with the authority's key. */
export function sealEvidence(
  parts: TrustEvidenceParts,
  facts: EvidenceFacts,
  code: RefusalCode,
): Promise<TrustEvidence> {
  const draft = draftTrustEvidence({ ...facts, evidence_id: parts.ids.uuid(), issued_by: parts.signing.keyId })
  return parts.signing.signFormOr(code, trustEvidenceForm, draft)
}
