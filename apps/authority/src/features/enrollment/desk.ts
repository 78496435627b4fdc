import { writeSortable } from '@chancery/protocol'
import { Batcher, Coalesced, endOfTurn } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import { AdaptiveCount } from '../../adaptive-count.ts'
import { readCertificateCounts } from '../../store/certificate-counts.ts'
import type { CertificateCounts } from '../../store/certificate-counts.ts'
import type { Store } from '../../store/database.ts'
import { recordHeartbeats } from '../../store/heartbeats.ts'
import type { HeartbeatOutcome, HeartbeatRow } from '../../store/heartbeats.ts'
import { findInvites } from '../../store/invites.ts'
import type { FoundInvite, InviteQuestion } from '../../store/invites.ts'
import { issueCertificates } from '../../store/joins.ts'
import type { JoinOutcome, JoinRow } from '../../store/joins.ts'
import { isLargeTable } from '../../store/large-table.ts'
import { countActiveNodes } from './store.ts'

const LIMITS = { maxItems: 200, maxWaiting: 5000, gather: endOfTurn }

/** Where nodes wait: what arrives while a batch commits goes with the next, and each is answered after its own commit. */
export interface EnrollmentDesk {
  readonly invites: Batcher<InviteQuestion, FoundInvite | undefined>
  readonly joins: Batcher<JoinRow, JoinOutcome>
  readonly heartbeats: Batcher<HeartbeatRow, HeartbeatOutcome>
  /** How many nodes are active, for anyone who asks. */
  readonly count: AdaptiveCount
  /** By counters: quick whatever the number of certificates. */
  readonly certificates: Coalesced<CertificateCounts>
  close(): Promise<void>
}

export function openEnrollmentDesk(store: Store, clock: Clock): EnrollmentDesk {
  const now = (): string => writeSortable(clock.now())
  const invites = new Batcher<InviteQuestion, FoundInvite | undefined>(
    async (rows) => [...(await findInvites(store.engine, rows))],
    LIMITS,
  )
  const joins = new Batcher<JoinRow, JoinOutcome>(
    async (rows) => [...(await issueCertificates(store.engine, rows, now()))],
    LIMITS,
  )
  const heartbeats = new Batcher<HeartbeatRow, HeartbeatOutcome>(
    async (rows) => [...(await recordHeartbeats(store.engine, rows, now()))],
    LIMITS,
  )
  return {
    invites,
    joins,
    heartbeats,
    count: new AdaptiveCount(
      clock,
      () => countActiveNodes(store.db, clock.now()),
      () => isLargeTable(store.db, 'node_liveness'),
    ),
    certificates: new Coalesced(() => readCertificateCounts(store.db)),
    async close() {
      await Promise.all([invites.close(), joins.close(), heartbeats.close()])
    },
  }
}
