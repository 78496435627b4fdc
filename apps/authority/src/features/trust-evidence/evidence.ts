import type { ErrorCode } from '@chancery/contract'
import { draftTrustEvidence, trustEvidenceForm } from '@chancery/protocol'
import type { Instant, TrustEvidence, TrustFinding } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { sealOr } from '../../signing/seal.ts'

export interface EvidenceFacts {
  readonly finding: TrustFinding
  readonly graph_digest: string
  readonly issuer_sovereign_id: string
  readonly now: Instant
}

/** Writes a finding down under the authority's key. */
export function sealEvidence(office: Office, facts: EvidenceFacts, code: ErrorCode): Promise<TrustEvidence> {
  const draft = draftTrustEvidence({ ...facts, evidence_id: office.ids.uuid(), issued_by: office.signer.keyId })
  return sealOr(code, office, trustEvidenceForm, draft)
}
