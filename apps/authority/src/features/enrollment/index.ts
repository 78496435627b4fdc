import { enrollment } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { certificates } from './certificates.ts'
import { heartbeat } from './heartbeat.ts'
import { chooseHeartbeatPace } from './heartbeat-pace.job.ts'
import { inviteBatch } from './invite-batch.ts'
import { inviteList } from './invite-list.ts'
import { invite } from './invite.ts'
import { join } from './join.ts'
import { countLiveness } from './liveness-counts.job.ts'
import { labelNode } from './label-node.ts'
import { nodes } from './nodes.ts'
import { present } from './present.ts'
import { renew } from './renew.ts'
import { issueWit } from './wit.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import { foldCertificateCounts } from '../../database/certificate-counts.ts'
import type { Transaction } from '../../database/database.ts'
import { type EnrollmentBatches, openEnrollmentBatches } from './batches.ts'
import { readCountedNodes } from './counted-nodes.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { type InviteWithdrawal, inviteWithdraw, withdrawInvites } from './invite-withdraw.ts'
import type { EnrollmentParts } from './parts.ts'
import { removeCertificates } from './remove-certificates.job.ts'
import { removeEnded } from './retention.job.ts'
import { supersedeUsed } from './supersede-used.job.ts'

export {
  countActiveNodes,
  countExpiring,
  listCertificates,
  listDueForListing,
  listOtherCertificates,
  markRevoked,
  raiseReason,
} from './queries/certificates.ts'
export { foldLabel } from './labels.ts'
export { whyUnusable } from './certificate-state.ts'
export { countWaiting, listPresented, removePresented } from './queries/presented.ts'
export { isKeyCompromised } from './queries/renewals.ts'
export { countOpen as countOpenInvites } from './queries/invite-rows.ts'
export type { RevocableCertificate } from './queries/certificates.ts'

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
      bindRead(enrollment.inviteList, parts, (call, from) => inviteList(call, { ...own, database: from })),
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
