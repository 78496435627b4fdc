import { Refusal } from '@chancery/contract'
import { draftAttestation, writeJson, writeSortable } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AttestationsParts } from './parts.ts'
import { areStrongKeys } from '../../requests/read-fields.ts'
import { findStoredResponse, storeResponse, readAttempt } from '../../requests/idempotency.ts'
import { readIssueRequest } from './requests.ts'
import { insertAttestation } from './queries/attestations.ts'

/**
 * POST /admin/attestations
 * Issues evidence of membership in this sovereign.
 */
export async function issue(call: OperatorCall, parts: AttestationsParts): Promise<HttpResponse> {
  const own = parts.network.name
  const { validityHours, ...facts } = readIssueRequest(call.body, own, parts.settings.allowedRoles)
  if (facts.subject_public_key !== null && !(await areStrongKeys([facts.subject_public_key])))
    throw new Refusal('invalid_public_key')
  const now = parts.clock.now()
  const attempt = readAttempt(call, now)
  const draft = draftAttestation({
    ...facts,
    attestation_id: parts.ids.uuid(),
    issuer_sovereign_id: own,
    issued_by: parts.signing.keyId,
    now,
    validityHours,
  })
  const text = writeJson(await parts.signing.sign(draft))
  return parts.database.write(async (tx) => {
    if (attempt !== undefined) {
      const earlier = await findStoredResponse(tx, attempt, writeSortable(now))
      if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
      await storeResponse(tx, attempt, { status: 201, text })
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
    const details = { attestation_id, issuer_sovereign_id: own, subject_id, roles, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'membership_attestation_issued', details })
    return jsonText(text, 201)
  })
}
