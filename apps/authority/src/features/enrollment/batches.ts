import { writeSortable } from '@chancery/protocol'
import { Batcher, SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import { BatchedRead } from '../../database/batched-read.ts'
import { AdaptiveCount } from '../../database/cached-count.ts'
import { readCertificateCounts } from '../../database/certificate-counts.ts'
import type { CertificateCounts } from '../../database/certificate-counts.ts'
import type { Database } from '../../database/database.ts'
import { READ_CERTIFICATES, toStoredCertificate } from './queries/certificate-states.ts'
import type { StoredCertificate } from './queries/certificate-states.ts'
import { recordHeartbeats } from './queries/heartbeats.ts'
import type { HeartbeatOutcome, HeartbeatRow } from './queries/heartbeats.ts'
import { findInvites } from './queries/invites.ts'
import type { InviteDetails, InviteLookup } from './queries/invites.ts'
import { issueCertificates } from './queries/joins.ts'
import type { JoinOutcome, JoinRow } from './queries/joins.ts'
import { isLargeTable } from '../../database/large-table.ts'
import { countActiveNodes } from './queries/certificates.ts'

const LIMITS = { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn }

/**
 * Queues of nodes. Requests that arrive during a commit join the next batch. Each gets its response after its own
 * commit.
 */
export interface EnrollmentBatches {
  readonly invites: Batcher<InviteLookup, InviteDetails | undefined>
  readonly joins: Batcher<JoinRow, JoinOutcome>
  readonly heartbeats: Batcher<HeartbeatRow, HeartbeatOutcome>
  /** The certificate with its state by the row and by the revocation list. */
  findCertificate(cert_id: string): Promise<StoredCertificate | undefined>
  /** Number of active nodes, which is public. */
  readonly count: AdaptiveCount
  /** Uses counters, so it is fast for any number of certificates. */
  readonly certificates: SharedRead<CertificateCounts>
  close(): Promise<void>
}

export function openEnrollmentBatches(database: Database, clock: Clock): EnrollmentBatches {
  const now = (): string => writeSortable(clock.now())
  const invites = new Batcher<InviteLookup, InviteDetails | undefined>(
    async (rows) => [...(await findInvites(database, rows))],
    LIMITS,
  )
  const joins = new Batcher<JoinRow, JoinOutcome>(
    async (rows) => [...(await issueCertificates(database, rows, now()))],
    LIMITS,
  )
  const heartbeats = new Batcher<HeartbeatRow, HeartbeatOutcome>(
    async (rows) => [...(await recordHeartbeats(database, rows, now()))],
    LIMITS,
  )
  const certificates = new BatchedRead(
    (ids) => database.run(READ_CERTIFICATES, ids),
    (row) => row.cert_id,
  )
  return {
    async findCertificate(cert_id) {
      const row = await certificates.find(cert_id)
      return row && toStoredCertificate(row)
    },
    invites,
    joins,
    heartbeats,
    count: new AdaptiveCount(
      clock,
      () => countActiveNodes(database, clock.now()),
      () => isLargeTable(database.read, 'node_liveness'),
    ),
    certificates: new SharedRead(() => readCertificateCounts(database.read)),
    async close() {
      await Promise.all([invites.close(), joins.close(), heartbeats.close(), certificates.close()])
    },
  }
}
