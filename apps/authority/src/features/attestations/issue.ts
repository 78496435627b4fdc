import { Refusal } from '@chancery/contract'
import { draftAttestation, writeJson, writeSortable } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { areStorableKeys } from '../../reading.ts'
import { seal } from '../../signing/seal.ts'
import { findAnswer, keepAnswer, readAttempt } from '../../store/idempotency.ts'
import { readIssueRequest } from './requests.ts'
import { insertAttestation } from './store.ts'

/**
 * POST /admin/attestations
 * Portable evidence of membership, in this sovereign's name only.
 */
export async function issue(call: OperatorCall, office: Office): Promise<Answer> {
  const own = office.genesis.network_name
  const { validityHours, ...facts } = readIssueRequest(call.body, own, office.settings.allowedRoles)
  if (facts.subject_public_key !== null && !(await areStorableKeys([facts.subject_public_key])))
    throw new Refusal('invalid_public_key')
  const now = office.clock.now()
  const attempt = readAttempt(call, now)
  const draft = draftAttestation({
    ...facts,
    attestation_id: office.ids.uuid(),
    issuer_sovereign_id: own,
    issued_by: office.signer.keyId,
    now,
    validityHours,
  })
  const text = writeJson(await seal(office, draft))
  return office.store.transact(async (tx) => {
    if (attempt !== undefined) {
      const earlier = await findAnswer(tx, attempt, writeSortable(now))
      if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
      await keepAnswer(tx, attempt, { status: 201, text })
    }
    const { attestation_id, subject_id, roles } = draft
    await insertAttestation(tx, {
      attestation_id,
      issuer_sovereign_id: own,
      subject_id,
      attestation_json: text,
      issued_at: writeSortable(now),
      published: draft.claims['public_mesh'] === true ? 1 : 0,
    })
    const details = { attestation_id, issuer_sovereign_id: own, subject_id, roles, ...causedBy(call) }
    await recordAudit(tx, office, { type: 'membership_attestation_issued', details })
    return jsonText(text, 201)
  })
}
