import { Refusal, enrollment } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { certificates } from './certificates.ts'
import { chooseHeartbeatPace, heartbeat, nodes, readCountedNodes } from './nodes.ts'
import { inviteBatch } from './invite-batch.ts'
import { listInvites } from './invite-list.ts'
import { join } from './join.ts'
import { type EnrollmentParts, present } from './present.ts'
import { renew } from './renew.ts'
import { issueWit } from './wit.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import { foldCertificateCounts } from '../../database/certificate-counts.ts'
import type { Transaction } from '../../database/database.ts'
import { type EnrollmentBatches, openEnrollmentBatches } from './batches.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { type InviteWithdrawal, inviteWithdraw, withdrawInvites } from './invite-withdraw.ts'
import { removeCertificates } from './remove-certificates.job.ts'
import { supersedeUsed } from './supersede-used.job.ts'
import {
  DAY,
  HOUR,
  MINUTE,
  hours,
  readPublicKey,
  sha256Hex,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { foldLivenessCounts } from '../../database/liveness-counts.ts'
import { INVITES_KEPT } from '../../database/sizes/table-ends.ts'
import { removePresented } from './queries/presented.ts'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { transactWithKey } from '../../auth/outlived-key.ts'
import { findStoredResponse, readAttempt } from '../../requests/idempotency.ts'
import { insertInvites } from './queries/invite-rows.ts'
import { foldLabel, readInviteRequest, readLabel } from './requests.ts'
import { refuseUnknownMembers } from '../../requests/read-fields.ts'
import { hasCertificate, removeLabel, storeLabel } from './queries/labels.ts'

export {
  countActiveNodes,
  countExpiring,
  listCertificates,
  listDueForListing,
  listOtherCertificates,
  markRevoked,
  raiseReason,
} from './queries/certificates.ts'
export { foldLabel } from './requests.ts'
export { whyUnusable } from './present.ts'
export { countWaiting, listPresented, removePresented } from './queries/presented.ts'
export { isKeyCompromised } from './queries/renewals.ts'
export { countOpen as countOpenInvites } from './queries/invite-rows.ts'
export type { RevocableCertificate } from './queries/certificates.ts'

/** Ten runs of the job. */
const RECENT = 10n * MINUTE

/** Keeps the counter of active nodes short and right. */
function countLiveness({ clock, database }: EnrollmentParts, signal: AbortSignal): Promise<void> {
  return foldLivenessCounts(database, writeSortable(clock.now() - RECENT), signal)
}

/** Rows per statement: few enough that joins and heartbeats are hardly delayed. */
const ROWS = 5000

/**
 * Removes invites 30 days after their end, presented certificates that ended or were adopted, and liveness of certificates that ended more than a day ago. Uses
 * the purge clock, which continues over restarts, so a clock that is ahead removes nothing early.
 */
async function removeEnded(parts: EnrollmentParts, signal: AbortSignal): Promise<void> {
  const now = parts.purgeClock.daily.now()
  const invites = writeSortable(now - INVITES_KEPT)
  while (!signal.aborted && (await removeInvites(parts, invites)) === ROWS);
  const presented = writeSortable(now - HOUR)
  while (!signal.aborted && (await parts.database.write((tx) => removePresented(tx, presented))) === ROWS);
  const liveness = writeSortable(now - DAY)
  while (!signal.aborted && (await removeLiveness(parts, liveness)) === ROWS);
}

async function removeInvites({ database }: EnrollmentParts, cutoff: string): Promise<number> {
  const { numDeletedRows } = await database.write(({ query }) => {
    const ended = query.selectFrom('invite_tokens').select('token_digest').where('expires_at', '<', cutoff).limit(ROWS)
    return query.deleteFrom('invite_tokens').where('token_digest', 'in', ended).executeTakeFirstOrThrow()
  })
  return Number(numDeletedRows)
}

async function removeLiveness({ database }: EnrollmentParts, cutoff: string): Promise<number> {
  const { numDeletedRows } = await database.write(({ query }) => {
    const ended = query
      .selectFrom('node_liveness as l')
      .innerJoin('issued_certs as c', 'c.cert_id', 'l.cert_id')
      .select('l.cert_id')
      .where('l.last_heartbeat', '<', cutoff)
      .where('c.expires_at', '<', cutoff)
      .limit(ROWS)
    return query.deleteFrom('node_liveness').where('cert_id', 'in', ended).executeTakeFirstOrThrow()
  })
  return Number(numDeletedRows)
}

/**
 * POST /admin/invite
 * Creates an invite. The token is shown once and stored as a digest only, so a reader of the database cannot join with
 * it.
 */
async function invite(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const request = readInviteRequest(call.body, parts.settings.allowedRoles)
  const now = parts.clock.now()
  const attempt = readAttempt(call, now)
  const token = parts.ids.token()
  const digest = sha256Hex(token)
  const expires = now + hours(request.tokenExpiryHours)

  await transactWithKey(call, parts, async (tx) => {
    // The response contains a secret and is never stored: a repeat under the same key is a conflict, not a second
    // invite.
    if (attempt !== undefined) await findStoredResponse(tx, attempt, writeSortable(now))
    const row = {
      token_digest: digest,
      assigned_roles_json: writeJson(request.roles),
      max_validity_hours: request.maxValidityHours,
      recipient_public_key: request.recipient,
      created_at: writeSortable(now),
      expires_at: writeSortable(expires),
      created_by: call.operator.key_id,
      batch_id: null,
      label: request.label,
    }
    await insertInvites(tx, [row])
    const details = {
      token_fingerprint: digest.slice(0, 16),
      roles: request.roles,
      recipient_public_key: request.recipient,
    }
    await parts.audit.record(tx, { type: 'invite_created', details: { ...details, ...requestDetails(call) } })
  })
  return { token_id: token, expires_at: writeInstant(expires) }
}

/**
 * POST /admin/nodes/label
 * Names a node key for operators, or removes its name.
 */
async function labelNode(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, enrollment.labelNode.body.names)
  const { node_public_key, label: given = '' } = call.body
  if (typeof node_public_key !== 'string' || readPublicKey(node_public_key) === undefined)
    throw new Refusal('invalid_public_key', { field: 'node_public_key' })
  const label = given === null ? null : readLabel(given)
  await transactWithKey(call, parts, async (tx) => {
    if (!(await hasCertificate(tx.query, node_public_key))) throw new Refusal('node_not_found')
    if (label === null) await removeLabel(tx, node_public_key)
    else await storeLabel(tx, { node_public_key, label, folded: foldLabel(label) })
    const details = { node_public_key, label, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'node_label_set', details })
  })
  return { node_public_key, label }
}

export interface Enrollment
  extends Feature, Pick<EnrollmentBatches, 'count' | 'certificates' | 'findCertificate' | 'heartbeatLoad'> {
  readCountedNodes(): Promise<number>
  withdrawInvites(tx: Transaction, withdrawal: InviteWithdrawal): Promise<number>
  /** Removes invites and certificates whose retention period is over. */
  removeEnded(signal: AbortSignal): Promise<void>
}

export function openEnrollment(parts: EnrollmentParts): Enrollment {
  const { clockCheck, database } = parts
  const batches = openEnrollmentBatches(parts)
  const own = { ...parts, batches }
  return {
    routes: [
      bind(enrollment.invite, (call) => invite(call, own)),
      bind(enrollment.inviteBatch, (call) => inviteBatch(call, own)),
      bindRead(enrollment.inviteList, parts, (call, from) => listInvites(call, { ...own, database: from })),
      bind(enrollment.inviteWithdraw, (call) => inviteWithdraw(call, forRevocations(own))),
      bind(enrollment.join, (call) => join(call, own)),
      bind(enrollment.heartbeat, (call) => heartbeat(call, own)),
      bind(enrollment.renew, (call) => renew(call, own)),
      bind(enrollment.wit, (call) => issueWit(call, own)),
      bind(enrollment.present, (call) => present(call, own)),
      bind(enrollment.nodes, (call) => nodes(call, own)),
      bindRead(enrollment.certificates, parts, (call, from) => certificates(call, { ...own, database: from })),
      bind(enrollment.labelNode, (call) => labelNode(call, own)),
    ],
    jobs: [
      { name: 'supersede-used', everySeconds: 60, run: whenClockIsCorrect(clockCheck, () => supersedeUsed(own)) },
      {
        name: 'certificate-removal',
        everySeconds: 600,
        run: whenClockIsCorrect(clockCheck, (signal) => removeCertificates(own, signal)),
      },
      { name: 'certificate-counts', everySeconds: 60, run: (signal) => foldCertificateCounts(database, signal) },
      { name: 'liveness-counts', everySeconds: 60, run: (signal) => countLiveness(own, signal) },
      { name: 'heartbeat-pace', everySeconds: 10, run: () => chooseHeartbeatPace(own) },
    ],
    count: batches.count,
    findCertificate: (cert_id) => batches.findCertificate(cert_id),
    certificates: batches.certificates,
    heartbeatLoad: () => batches.heartbeatLoad(),
    readCountedNodes: () => readCountedNodes(own),
    withdrawInvites: (tx, withdrawal) => withdrawInvites(tx, own, withdrawal),
    removeEnded: (signal) => removeEnded(own, signal),
    close: () => batches.close(),
  }
}
