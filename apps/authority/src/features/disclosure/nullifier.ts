import { draftCapabilityNullifier, nullifierForm } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readOr, requirePresent } from '../../reading.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { readProof } from './requests.ts'

/**
 * POST /admin/disclosure/nullifier
 * Signs a mark by which a verifier takes a proof only once. The verifier remembers it, not the authority.
 */
export async function nullifier(call: OperatorCall, office: Office): Promise<Answer> {
  const shown = requirePresent(call.body, 'proof', 'missing_proof')
  const { proof_id } = readOr('invalid_proof', () => readProof(shown))
  return issueRecord(call, office, async (_tx, now) => {
    const draft = draftCapabilityNullifier({
      nullifier_id: office.ids.uuid(),
      proof_id,
      nonce: office.ids.hex(32),
      prover_sovereign_id: office.genesis.network_name,
      now,
    })
    const record = await sealOr('nullifier_failed', office, nullifierForm, draft)
    const { nullifier_id } = record
    return { record, type: 'capability_nullifier_issued', details: { nullifier_id, proof_id } }
  })
}
