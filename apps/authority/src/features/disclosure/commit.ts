import { buildMerkleTree, commitmentForm, draftCapabilityCommitment } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { loadTrustedAgreement } from '../agreements/index.ts'
import { readCommitRequest, readCommittable } from './requests.ts'

/**
 * POST /admin/disclosure/commit
 * Signs a Merkle root over capabilities of an agreement: their holder can later show one without the others.
 */
export async function commit(call: OperatorCall, office: Office): Promise<Answer> {
  const { items, presented } = readCommitRequest(call.body)
  const { agreement_id, agreed_terms } = (await loadTrustedAgreement(call, office, presented)).record
  const capabilities = readCommittable(items, agreed_terms.capabilities)
  return issueRecord(call, office, async (_tx, now) => {
    const draft = draftCapabilityCommitment({
      commitment_id: office.ids.uuid(),
      merkle_root: buildMerkleTree(capabilities).root,
      capability_count: capabilities.length,
      agreement_id,
      issuer_sovereign_id: office.genesis.network_name,
      now,
    })
    const record = await sealOr('commit_failed', office, commitmentForm, draft)
    const { commitment_id } = record
    return { record, type: 'capability_commitment_created', details: { commitment_id, agreement_id } }
  })
}
