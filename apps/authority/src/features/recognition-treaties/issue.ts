import { Refusal } from '@chancery/contract'
import { draftRecognitionTreaty, writeJson, writeSortable } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { areStorableKeys } from '../../reading.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { requireSigningWindow, seal } from '../../signing/seal.ts'
import { bumpHead } from '../../store/heads.ts'
import { findAnswer, keepAnswer, readAttempt } from '../../store/idempotency.ts'
import { readIssueRequest } from './requests.ts'
import { insertTreaty } from './store.ts'

/**
 * POST /admin/recognition-treaties
 * Recognises another sovereign, for a scope and a time.
 */
export async function issue(call: OperatorCall, office: Office): Promise<Answer> {
  const own = office.genesis.network_name
  const { validityHours, ...facts } = readIssueRequest(call.body, own, office.settings.allowedRoles)
  if (!(await areStorableKeys(facts.subject_public_keys))) throw new Refusal('invalid_public_keys')
  requireSigningWindow(office)
  if (office.recordFaults.has('treaties')) throw new RecordFault('treaties', 'a stored treaty does not verify')
  const attempt = readAttempt(call, office.clock.now())
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'treaties')
    const now = office.clock.now()
    const earlier = attempt === undefined ? undefined : await findAnswer(tx, attempt, writeSortable(now))
    if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
    const draft = draftRecognitionTreaty({
      ...facts,
      treaty_id: office.ids.uuid(),
      issuer_sovereign_id: own,
      issued_by: office.signer.keyId,
      now,
      validityHours,
    })
    const text = writeJson(await seal(office, draft))
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
    await bumpHead(tx, 'treaties')
    const details = {
      treaty_id,
      issuer_sovereign_id: own,
      subject_sovereign_id,
      allowed_roles: draft.scope.allowed_roles,
      ...causedBy(call),
    }
    await recordAudit(tx, office, { type: 'recognition_treaty_issued', details })
    if (attempt !== undefined) await keepAnswer(tx, attempt, { status: 201, text })
    return jsonText(text, 201)
  })
}
