import {
  SEED_BYTES,
  buildMerkleTree,
  buildSaltedTree,
  commitmentForm,
  draftCapabilityCommitment,
  saltedLeafCount,
} from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { DisclosureParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readCommitRequest, readCommittable } from './requests.ts'

/**
 * POST /admin/disclosure/commit
 * Signs a Merkle root over capabilities of an agreement. Their holder can later prove one of them without showing the
 * others. The seed of a salted one is answered and not stored: anyone who has it can guess the hidden names, and a route
 * that used a stored one would confirm guesses.
 */
export async function commit(call: OperatorCall, parts: DisclosureParts): Promise<HttpResponse> {
  const { items, presented, isSalted } = readCommitRequest(call.body)
  const { agreement_id, agreed_terms } = (await parts.agreements.loadTrustedAgreement(call, presented)).record
  const capabilities = readCommittable(items, agreed_terms.capabilities)
  return issueRecord(call, parts, async (_tx, now) => {
    const seed = isSalted ? parts.ids.hex(SEED_BYTES * 2) : undefined
    const draft = draftCapabilityCommitment({
      commitment_id: parts.ids.uuid(),
      ...(seed === undefined
        ? { merkle_root: buildMerkleTree(capabilities).root, capability_count: capabilities.length }
        : {
            merkle_root: buildSaltedTree(capabilities, seed).root,
            capability_count: saltedLeafCount(capabilities.length),
            salted: true,
          }),
      agreement_id,
      issuer_sovereign_id: parts.network.name,
      now,
    })
    const commitment = await parts.signing.signFormOr('commit_failed', commitmentForm, draft)
    const { commitment_id } = commitment
    // Apart from the record, so that a caller who passes on the record does not pass on the seed.
    const record = seed === undefined ? commitment : { commitment, seed }
    return { record, type: 'capability_commitment_created', details: { commitment_id, agreement_id } }
  })
}
