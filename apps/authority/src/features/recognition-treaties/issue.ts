import { Refusal } from '@chancery/contract'
import { draftRecognitionTreaty, writeJson, writeSortable } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { areStrongKeys } from '../../requests/read-fields.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { findStoredResponse, storeResponse, readAttempt } from '../../requests/idempotency.ts'
import { readIssueRequest } from './requests.ts'
import { insertTreaty } from './queries.ts'

/**
 * POST /admin/recognition-treaties
 * Recognises another sovereign, for a scope and a time.
 */
export async function issue(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const own = parts.network.name
  const { validityHours, ...facts } = readIssueRequest(call.body, own, parts.settings.allowedRoles)
  if (!(await areStrongKeys(facts.subject_public_keys))) throw new Refusal('invalid_public_keys')
  parts.signing.requireAllowed()
  if (parts.recordFaults.has('treaties')) throw new RecordFault('treaties', 'a stored treaty does not verify')
  const attempt = readAttempt(call, parts.clock.now())
  return parts.database.write(async (tx) => {
    await tx.lock('treaties')
    const now = parts.clock.now()
    const earlier = attempt === undefined ? undefined : await findStoredResponse(tx, attempt, writeSortable(now))
    if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
    const draft = draftRecognitionTreaty({
      ...facts,
      treaty_id: parts.ids.uuid(),
      issuer_sovereign_id: own,
      issued_by: parts.signing.keyId,
      now,
      validityHours,
    })
    const text = writeJson(await parts.signing.sign(draft))
    const { treaty_id, subject_sovereign_id, valid_from, expires_at } = draft
    await insertTreaty(tx, {
      treaty_id,
      issuer_sovereign_id: own,
      subject_sovereign_id,
      treaty_json: text,
      issued_at: writeSortable(now),
      valid_from,
      expires_at,
    })
    await tx.raiseVersion('treaties')
    const details = {
      treaty_id,
      issuer_sovereign_id: own,
      subject_sovereign_id,
      allowed_roles: draft.scope.allowed_roles,
      ...requestDetails(call),
    }
    await parts.audit.record(tx, { type: 'recognition_treaty_issued', details })
    if (attempt !== undefined) await storeResponse(tx, attempt, { status: 201, text })
    return jsonText(text, 201)
  })
}
