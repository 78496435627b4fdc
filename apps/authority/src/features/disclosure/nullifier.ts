import { draftCapabilityNullifier, nullifierForm } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { DisclosureParts } from './parts.ts'
import { readOrRefuse, requirePresent } from '../../requests/read-fields.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readProof } from './requests.ts'

/**
 * POST /admin/disclosure/nullifier
 * Signs a nullifier, which lets a verifier accept a proof only once. The verifier stores it, not the authority.
 */
export async function nullifier(call: OperatorCall, parts: DisclosureParts): Promise<HttpResponse> {
  const shown = requirePresent(call.body, 'proof', 'missing_proof')
  const { proof_id } = readOrRefuse('invalid_proof', () => readProof(shown))
  return issueRecord(call, parts, async (_tx, now) => {
    const draft = draftCapabilityNullifier({
      nullifier_id: parts.ids.uuid(),
      proof_id,
      nonce: parts.ids.hex(32),
      prover_sovereign_id: parts.network.name,
      now,
    })
    const record = await parts.signing.signFormOr('nullifier_failed', nullifierForm, draft)
    const { nullifier_id } = record
    return { record, type: 'capability_nullifier_issued', details: { nullifier_id, proof_id } }
  })
}
