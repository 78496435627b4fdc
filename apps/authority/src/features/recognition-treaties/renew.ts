import { Refusal } from '@chancery/contract'
import { HOUR, type JsonObject, type RecognitionTreaty, canonicalJson, instantOf } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Transaction } from '../../database/database.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { type IssueRequest, MAX_VALIDITY_HOURS, readIssueRequest } from './requests.ts'
import { findTreaty, markTreatyRevoked } from './queries.ts'
import { signOnce } from './sign-treaty.ts'

/** Members of the new treaty that may differ; every other one is that of the old treaty. */
const CHANGES = ['subject_public_keys', 'scope', 'metadata']

/**
 * POST /admin/recognition-treaties/{treaty_id}/renew
 * Signs the next treaty and ends the old one in one transaction, so recognition is never interrupted and never doubled.
 */
export async function renew(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  refuseUnknownMembers(call.body, [...CHANGES, 'validity_hours'])
  const treaty_id = call.params['treaty_id'] ?? ''
  const old = await loadSigned(parts, treaty_id)
  const request = readRenewal(call.body, old, parts)
  return signOnce(call, parts, request, async (tx, { treaty, text }, now) => {
    const word = CHANGES.some((name) => call.body[name] !== undefined) ? 'replaced_by' : 'renewed_by'
    const reason = `${word}:${treaty.treaty_id}`
    await endOld(tx, parts, call, { treaty_id, reason, now })
    const previous = canonicalJson({ treaty_id, status: 'revoked', revocation_reason: reason })
    return `{"treaty":${text},"previous":${previous}}`
  })
}

/** What is signed again must be what was signed before, and not an edited row. */
async function loadSigned(parts: RecognitionTreatiesParts, treaty_id: string): Promise<RecognitionTreaty> {
  const row = await findTreaty(parts.database, treaty_id)
  if (row === undefined || row.issuer_sovereign_id !== parts.network.name) throw new Refusal('treaty_not_found')
  const treaty = await parts.verifiedTreaties.read(row)
  if (treaty === undefined) throw new RecordFault('treaties', 'a stored treaty does not verify')
  return treaty
}

function readRenewal(body: JsonObject, old: RecognitionTreaty, parts: RecognitionTreatiesParts): IssueRequest {
  const { subject_sovereign_id, subject_public_keys, scope, metadata, valid_from, expires_at } = old
  const hours = Number((instantOf(expires_at) - instantOf(valid_from)) / HOUR)
  const same = {
    subject_sovereign_id,
    subject_public_keys: [...subject_public_keys],
    scope: { ...scope },
    metadata,
    validity_hours: Math.min(Math.max(hours, 1), MAX_VALIDITY_HOURS),
  }
  // Read as a new request: roles that were removed from NA_ALLOWED_ROLES are not granted again.
  return readIssueRequest({ ...same, ...body }, parts.network.name, parts.settings.allowedRoles)
}

/** Of two renewals at a time one ends the old treaty; the other is rolled back, its new treaty included. */
async function endOld(
  tx: Transaction,
  parts: RecognitionTreatiesParts,
  call: OperatorCall,
  { treaty_id, reason, now }: { readonly treaty_id: string; readonly reason: string; readonly now: string },
): Promise<void> {
  if (!(await markTreatyRevoked(tx, treaty_id, now, reason))) throw new Refusal('treaty_ended')
  await parts.audit.record(tx, {
    type: 'recognition_treaty_revoked',
    details: { treaty_id, reason, ...requestDetails(call) },
  })
}
