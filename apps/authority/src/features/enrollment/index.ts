import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import { foldCertificateCounts } from '../../database/certificate-counts.ts'
import type { Transaction } from '../../database/database.ts'
import { openEnrollmentBatches } from './batches.ts'
import type { EnrollmentBatches } from './batches.ts'
import { readCountedNodes } from './counted-nodes.ts'
import { withdrawInvites } from './invite-withdraw.ts'
import type { InviteWithdrawal } from './invite-withdraw.ts'
import type { EnrollmentParts } from './parts.ts'
import { removeCertificates } from './remove-certificates.job.ts'
import { removeEnded } from './retention.job.ts'
import { enrollmentRoutes } from './routes.ts'
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
export { whyUnusable } from './certificate-state.ts'
export { findCertificate, isKeyCompromised } from './queries/renewals.ts'
export { countOpen as countOpenInvites } from './queries/invite-rows.ts'
export type { RevocableCertificate } from './queries/certificates.ts'

export interface Enrollment extends Feature, Pick<EnrollmentBatches, 'count' | 'certificates'> {
  readCountedNodes(): Promise<number>
  withdrawInvites(tx: Transaction, withdrawal: InviteWithdrawal): Promise<number>
  /** Removes invites and certificates whose retention period is over. */
  removeEnded(signal: AbortSignal): Promise<void>
}

export function openEnrollment(parts: EnrollmentParts): Enrollment {
  const { clockCheck, database, clock } = parts
  const batches = openEnrollmentBatches(database, clock)
  const own = { ...parts, batches }
  return {
    routes: enrollmentRoutes(own),
    jobs: [
      { name: 'supersede-used', everySeconds: 60, run: whenClockIsCorrect(clockCheck, () => supersedeUsed(own)) },
      {
        name: 'certificate-removal',
        everySeconds: 600,
        run: whenClockIsCorrect(clockCheck, (signal) => removeCertificates(own, signal)),
      },
      { name: 'certificate-counts', everySeconds: 60, run: (signal) => foldCertificateCounts(database, signal) },
    ],
    count: batches.count,
    certificates: batches.certificates,
    readCountedNodes: () => readCountedNodes(own),
    withdrawInvites: (tx, withdrawal) => withdrawInvites(tx, own, withdrawal),
    removeEnded: (signal) => removeEnded(own, signal),
    close: () => batches.close(),
  }
}
