import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { TrustEvidenceParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { sealEvidence } from './evidence.ts'
import { readIssueRequest } from './requests.ts'

/**
 * POST /admin/trust-evidence
 * Signs the finding of an operator about a sovereign, with the digest of its graph.
 */
export async function issue(call: OperatorCall, parts: TrustEvidenceParts): Promise<HttpResponse> {
  const { finding, ...given } = readIssueRequest(call.body)
  const graph_digest = given.graph_digest ?? (await parts.connectome.graphDigest())
  const issuer_sovereign_id = parts.network.name
  return issueRecord(call, parts, async (_tx, now) => {
    const facts = { finding, graph_digest, issuer_sovereign_id, now }
    const record = await sealEvidence(parts, facts, 'evidence_build_failed')
    const { evidence_id, source_sovereign_id, target_sovereign_id, verdict } = record
    const details = { evidence_id, source_sovereign_id, target_sovereign_id, verdict }
    return { record, type: 'trust_evidence_built', details }
  })
}
