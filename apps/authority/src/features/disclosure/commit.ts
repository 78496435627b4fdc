import { buildMerkleTree, commitmentForm, draftCapabilityCommitment } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { DisclosureParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readCommitRequest, readCommittable } from './requests.ts'

/**
 * POST /admin/disclosure/commit
 * Signs a Merkle root over capabilities of an agreement. Their holder can later prove one of them without showing the
 * others.
 */
export async function commit(call: OperatorCall, parts: DisclosureParts): Promise<HttpResponse> {
  const { items, presented } = readCommitRequest(call.body)
  const { agreement_id, agreed_terms } = (await parts.agreements.loadTrustedAgreement(call, presented)).record
  const capabilities = readCommittable(items, agreed_terms.capabilities)
  return issueRecord(call, parts, async (_tx, now) => {
    const draft = draftCapabilityCommitment({
      commitment_id: parts.ids.uuid(),
      merkle_root: buildMerkleTree(capabilities).root,
      capability_count: capabilities.length,
      agreement_id,
      issuer_sovereign_id: parts.network.name,
      now,
    })
    const record = await parts.signing.signFormOr('commit_failed', commitmentForm, draft)
    const { commitment_id } = record
    return { record, type: 'capability_commitment_created', details: { commitment_id, agreement_id } }
  })
}
