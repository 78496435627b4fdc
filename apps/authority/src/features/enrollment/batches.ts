import { writeSortable } from '@chancery/protocol'
import { Batcher, SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { VerifiedNode } from '../../auth/node.ts'
import { toClaim } from '../../auth/nonces.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import { AdaptiveCount } from '../../database/cached-count.ts'
import { type CertificateCounts, readCertificateCounts } from '../../database/certificate-counts.ts'
import { GatheredHeartbeats } from './gathered-heartbeats.ts'
import { HeartbeatPace } from './heartbeat-pace.ts'
import type { EnrollmentParts } from './parts.ts'
import { READ_CERTIFICATES, type StoredCertificate, toStoredCertificate } from './queries/certificate-states.ts'
import { type HeartbeatOutcome, type HeartbeatRow, recordHeartbeats } from './queries/heartbeats.ts'
import { type InviteDetails, type InviteLookup, findInvites } from './queries/invites.ts'
import { type JoinOutcome, type JoinRow, issueCertificates } from './queries/joins.ts'
import { isLargeTable } from '../../database/large-table.ts'
import { activeMoment, countActiveNodes } from './queries/certificates.ts'

/** The longest interval of large fleets, in seconds. */
const SLOWEST_SECONDS = 900
const LIMITS = { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn }

/**
 * Queues of nodes. Requests that arrive during a commit join the next batch. Each gets its response after its own
 * commit.
 */
export interface EnrollmentBatches {
  readonly invites: Batcher<InviteLookup, InviteDetails | undefined>
  readonly joins: Batcher<JoinRow, JoinOutcome>
  recordHeartbeat(beat: Beat): Promise<HeartbeatOutcome>
  /** The interval that nodes are asked for. */
  readonly pace: HeartbeatPace
  heartbeatLoad(): HeartbeatLoad
  /** The certificate with its state by the row and by the revocation list. */
  findCertificate(cert_id: string): Promise<StoredCertificate | undefined>
  /** Number of active nodes, which is public. */
  readonly count: AdaptiveCount
  /** Uses counters, so it is fast for any number of certificates. */
  readonly certificates: SharedRead<CertificateCounts>
  close(): Promise<void>
}

/** A heartbeat whose proof has verified. */
export interface Beat extends Omit<HeartbeatRow, 'claim' | 'claim_expires_at'> {
  readonly proof: VerifiedNode
}

/** For the metrics. */
export interface HeartbeatLoad {
  readonly askedSeconds: number
  /** Acknowledged heartbeats that are not stored, and the age of the oldest. */
  readonly unstored: number
  readonly lagSeconds: number
}

type BatchParts = Pick<
  EnrollmentParts,
  'activeWindow' | 'claimNewest' | 'database' | 'clock' | 'log' | 'metrics' | 'settings'
>

export function openEnrollmentBatches(parts: BatchParts): EnrollmentBatches {
  const { database, clock } = parts
  const now = (): string => writeSortable(clock.now())
  const invites = new Batcher<InviteLookup, InviteDetails | undefined>(
    async (rows) => [...(await findInvites(database, rows))],
    LIMITS,
  )
  const joins = new Batcher<JoinRow, JoinOutcome>(
    async (rows) => [...(await issueCertificates(database, rows, now()))],
    LIMITS,
  )
  const heartbeats = parts.settings.heartbeatMode === 'gathered' ? openGathered(parts) : openStrict(parts)
  const pace = openPace(parts, () => heartbeats.lagMs())
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
    async recordHeartbeat(beat) {
      const started = clock.monotonicMs()
      try {
        const outcome = await heartbeats.record(beat)
        pace.note(clock.monotonicMs() - started)
        return outcome
      } catch (error) {
        pace.note(clock.monotonicMs() - started, 'failed')
        throw error
      }
    },
    pace,
    heartbeatLoad: () => ({
      askedSeconds: pace.seconds,
      unstored: heartbeats.unstored(),
      lagSeconds: heartbeats.lagMs() / 1000,
    }),
    count: new AdaptiveCount(
      clock,
      () => countActiveNodes(database.read, activeMoment(parts)),
      () => isLargeTable(database.read, 'node_liveness'),
    ),
    certificates: new SharedRead(() => readCertificateCounts(database.read)),
    async close() {
      await Promise.all([invites.close(), joins.close(), heartbeats.close(), certificates.close()])
    },
  }
}

function openPace({ clock, settings }: BatchParts, lagMs: () => number): HeartbeatPace {
  const { heartbeatMode, heartbeatSeconds: usual } = settings
  const slowest = heartbeatMode === 'gathered' ? Math.max(usual, SLOWEST_SECONDS) : usual
  return new HeartbeatPace({ clock, usual, slowest, lagMs })
}

interface Heartbeats {
  /** Number of acknowledged heartbeats that are not stored, and the age of the oldest. */
  unstored(): number
  lagMs(): number
  record(beat: Beat): Promise<HeartbeatOutcome>
  close(): Promise<void>
}

/** Each nonce is spent and each heartbeat stored before its answer. */
function openStrict({ database, clock }: BatchParts): Heartbeats {
  const rows = new Batcher<HeartbeatRow, HeartbeatOutcome>(
    async (batch) => [...(await recordHeartbeats(database, batch, writeSortable(clock.now())))],
    LIMITS,
  )
  return {
    record({ proof, ...row }) {
      const { claim, expires_at } = toClaim(`node:${row.node_public_key}`, proof.nonce, proof.signedAt)
      return rows.add({ ...row, claim, claim_expires_at: expires_at })
    },
    unstored: () => 0,
    lagMs: () => 0,
    close: () => rows.close(),
  }
}

function openGathered({ claimNewest, database, clock, log, metrics }: BatchParts): Heartbeats {
  const onStored = (rows: number | undefined): void =>
    rows === undefined ? metrics.heartbeatStoreFailures.increase() : metrics.heartbeatsStored.increase(rows)
  const gathered = new GatheredHeartbeats({ claimNewest, database, clock, log, onStored })
  return {
    record: ({ proof, ...row }) => gathered.add({ ...row, signed_at: Number(proof.signedAt) }),
    unstored: () => gathered.unstored,
    lagMs: () => gathered.lagMs,
    close: () => gathered.close(),
  }
}
