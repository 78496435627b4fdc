import { Refusal } from '@chancery/contract'
import { HOUR, draftRecognitionTreaty, instantOf, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject, RecognitionTreaty } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Transaction } from '../../database/database.ts'
import { areStrongKeys, readDryRun, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { type SignedRecord, issueRecord } from '../../requests/signed-record.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { findTreaty, insertTreaty, markTreatyRevoked } from './queries.ts'
import { type IssueRequest, MAX_VALIDITY_HOURS, readIssueRequest } from './requests.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'

export interface RecognitionTreatiesParts extends FeatureBase, Pick<Core, 'recordFaults' | 'verifiedTreaties'> {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles' | 'evidenceStore'>
  readonly connectome: Connectome
}

/** Signs and stores the requested treaty. `answer` runs in the same transaction, and gives another response. */
export async function signTreaty(
  call: OperatorCall,
  parts: RecognitionTreatiesParts,
  request: IssueRequest,
  answer?: SignedRecord<RecognitionTreaty>['answer'],
): Promise<HttpResponse> {
  if (!(await areStrongKeys(request.subject_public_keys))) throw new Refusal('invalid_public_keys')
  // Without the store nothing is counted, and every request under these budgets would be denied.
  if (Object.hasOwn(request.scope.claims, 'budgets') && !parts.settings.evidenceStore)
    throw new Refusal('evidence_store_required')
  parts.signing.requireAllowed()
  if (parts.recordFaults.has('treaties')) throw new RecordFault('treaties', 'a stored treaty does not verify')
  const [treaty_id, issuer_sovereign_id] = [parts.ids.uuid(), parts.network.name]
  const named = { treaty_id, issuer_sovereign_id }
  return issueRecord(call, parts, {
    sign: (draft: RecognitionTreaty) => parts.signing.sign(draft),
    event: 'recognition_treaty_issued',
    named: ['treaty_id', 'issuer_sovereign_id', 'subject_sovereign_id'],
    lock: 'treaties',
    draft: (now) => draftRecognitionTreaty({ ...request, ...named, issued_by: parts.signing.keyId, now }),
    store: async (tx, record, now) => {
      const { subject_sovereign_id, valid_from, expires_at, scope } = record
      const row = { treaty_id, issuer_sovereign_id, subject_sovereign_id, valid_from, expires_at }
      await insertTreaty(tx, { ...row, treaty_json: writeJson(record), issued_at: writeSortable(now) })
      await tx.raiseVersion('treaties')
      return { allowed_roles: scope.allowed_roles }
    },
    ...(answer === undefined ? {} : { answer }),
  })
}

/**
 * POST /admin/recognition-treaties/{treaty_id}/revoke
 * Ends recognition. Repeating it keeps the first time and reason.
 */
export async function revoke(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const treaty_id = call.params['treaty_id'] ?? ''
  if (readDryRun(call.body)) return preview(parts, treaty_id)
  return parts.database.write(async (tx) => {
    await tx.lock('treaties')
    if ((await findTreaty(parts.database, treaty_id, tx.query)) === undefined) throw new Refusal('treaty_not_found')
    const isEnded = await endTreaty(tx, parts, call, { treaty_id, reason, now: parts.clock.now() })
    if (isEnded) await tx.raiseVersion('treaties')
    return { treaty_id, status: 'revoked' }
  })
}

/** Returns the paths between sovereigns that would be lost. Changes nothing. */
async function preview(parts: RecognitionTreatiesParts, treaty_id: string): Promise<JsonObject> {
  const stored = await findTreaty(parts.database, treaty_id)
  if (stored === undefined) throw new Refusal('treaty_not_found')
  const loss = await parts.connectome.previewTreatyEnd(treaty_id)
  return {
    dry_run: true,
    treaty_id,
    status: stored.status,
    would_change: stored.status !== 'revoked',
    paths_lost: loss,
    attestations_no_longer_accepted: {
      issuer_sovereign_id: stored.subject_sovereign_id,
      all: loss.direct_recognition_lost,
    },
  }
}

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
  return signTreaty(call, parts, request, async (treaty, tx, now) => {
    const word = CHANGES.some((name) => call.body[name] !== undefined) ? 'replaced_by' : 'renewed_by'
    const reason = `${word}:${treaty.treaty_id}`
    // Of two renewals at a time one ends the old treaty; the other is rolled back, its new treaty included.
    if (!(await endTreaty(tx, parts, call, { treaty_id, reason, now }))) throw new Refusal('treaty_ended')
    return { treaty, previous: { revocation_reason: reason, status: 'revoked', treaty_id } }
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

/** False when it was revoked before. */
async function endTreaty(
  tx: Transaction,
  parts: RecognitionTreatiesParts,
  call: OperatorCall,
  { treaty_id, reason, now }: { readonly treaty_id: string; readonly reason: string; readonly now: Instant },
): Promise<boolean> {
  if (!(await markTreatyRevoked(tx, treaty_id, writeSortable(now), reason))) return false
  const details = { treaty_id, reason, ...requestDetails(call) }
  await parts.audit.record(tx, { type: 'recognition_treaty_revoked', details })
  return true
}
