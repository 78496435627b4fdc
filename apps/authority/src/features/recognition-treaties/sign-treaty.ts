import { Refusal } from '@chancery/contract'
import { draftRecognitionTreaty, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, RecognitionTreaty } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Transaction } from '../../database/database.ts'
import { readAttempt, respondOnce } from '../../requests/idempotency.ts'
import { areStrongKeys } from '../../requests/read-fields.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { insertTreaty } from './queries.ts'
import type { IssueRequest } from './requests.ts'

export interface SignedTreaty {
  readonly treaty: RecognitionTreaty
  readonly text: string
}

/** Signs the requested treaty in one transaction with what `complete` changes. Returns the response of that call. */
export async function signOnce(
  call: OperatorCall,
  parts: RecognitionTreatiesParts,
  request: IssueRequest,
  complete: (tx: Transaction, signed: SignedTreaty, now: string) => Promise<string>,
): Promise<HttpResponse> {
  if (!(await areStrongKeys(request.subject_public_keys))) throw new Refusal('invalid_public_keys')
  parts.signing.requireAllowed()
  if (parts.recordFaults.has('treaties')) throw new RecordFault('treaties', 'a stored treaty does not verify')
  const attempt = readAttempt(call, parts.clock.now())
  return parts.database.write(async (tx) => {
    await tx.lock('treaties')
    const now = parts.clock.now()
    return respondOnce(tx, attempt, writeSortable(now), async () => {
      const text = await complete(tx, await signTreaty(tx, parts, call, { request, now }), writeSortable(now))
      await tx.raiseVersion('treaties')
      return { status: 201, text }
    })
  })
}

/** Signs a treaty and stores it with its audit event. */
async function signTreaty(
  tx: Transaction,
  parts: RecognitionTreatiesParts,
  call: OperatorCall,
  { request, now }: { readonly request: IssueRequest; readonly now: Instant },
): Promise<SignedTreaty> {
  const own = parts.network.name
  const draft = draftRecognitionTreaty({
    ...request,
    treaty_id: parts.ids.uuid(),
    issuer_sovereign_id: own,
    issued_by: parts.signing.keyId,
    now,
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
  const details = {
    treaty_id,
    issuer_sovereign_id: own,
    subject_sovereign_id,
    allowed_roles: draft.scope.allowed_roles,
    ...requestDetails(call),
  }
  await parts.audit.record(tx, { type: 'recognition_treaty_issued', details })
  return { treaty: draft, text }
}
