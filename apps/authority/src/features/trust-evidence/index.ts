import { type RefusalCode, trustEvidence } from '@chancery/contract'
import { type TrustEvidence, writeInstant } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import type { TrustEvidenceParts } from './parts.ts'
import { sealEvidence } from './evidence.ts'
import type { Feature } from '../../core.ts'
import { issue } from './issue.ts'
import { verify } from './verify.ts'

/** Signs the current finding of one party about the other, on its behalf (protocol/trust-operations 2.5). */
async function issueFinding(
  parts: TrustEvidenceParts,
  parties: { readonly source: string; readonly target: string },
  code: RefusalCode,
): Promise<TrustEvidence> {
  const now = parts.clock.now()
  const grounded = await parts.connectome.findTrustNow({ ...parties, evaluated_at: writeInstant(now) })
  return sealEvidence(parts, { ...grounded, issuer_sovereign_id: parties.source, now }, code)
}

export interface TrustEvidenceIssuer extends Feature {
  issueFinding(parties: { readonly source: string; readonly target: string }, code: RefusalCode): Promise<TrustEvidence>
}

export function openTrustEvidence(parts: TrustEvidenceParts): TrustEvidenceIssuer {
  return {
    routes: [
      bind(trustEvidence.issue, (call) => issue(call, parts)),
      bind(trustEvidence.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    issueFinding: (parties, code) => issueFinding(parts, parties, code),
    close: () => Promise.resolve(),
  }
}
