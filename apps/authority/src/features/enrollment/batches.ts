import { writeSortable } from '@chancery/protocol'
import { Batcher, type Clock, SharedRead, endOfLoopTurn } from '@chancery/service-kit'
import type { VerifiedNode } from '../../auth/node.ts'
import { toClaim } from '../../auth/nonces.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import { AdaptiveCount, isLargeTable } from '../../database/large-tables.ts'
import { type CertificateCounts, readCertificateCounts } from '../../database/certificate-counts.ts'
import { GatheredHeartbeats } from './gathered-heartbeats.ts'
import type { EnrollmentParts } from './present.ts'
import { READ_CERTIFICATES, findInvites, toStoredCertificate } from './queries/invites.ts'
import type { InviteDetails, InviteLookup, StoredCertificate } from './queries/invites.ts'
import { type HeartbeatOutcome, type HeartbeatRow, recordHeartbeats } from './queries/heartbeats.ts'
import { type JoinOutcome, type JoinRow, issueCertificates } from './queries/joins.ts'
import { activeMoment, countActiveNodes } from './queries/certificates.ts'

/** Answers that take longer on average, and rows that wait longer to be stored, are pressure. */
const SLOW_ANSWER_MS = 250
const SLOW_STORE_MS = 1000
/** A heartbeat that could not be answered counts as one that took at least so long. */
const FAILED_MS = 1000
/** Up by half after this time under pressure, down by a tenth after this time without. */
const UP_AFTER_MS = 30_000
const DOWN_AFTER_MS = 60_000

export interface PaceOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The interval of the settings, in seconds, and the slowest one. */
  readonly usual: number
  readonly slowest: number
  /** Age of the oldest heartbeat that is not stored. */
  readonly lagMs: () => number
}

/**
 * The heartbeat interval that nodes are asked for. It grows while the database is too slow for the fleet, and goes back
 * slowly, because a node learns of it with its next heartbeat only.
 */
export class HeartbeatPace {
  readonly #options: PaceOptions
  #asked: number
  #changedMs: number
  #answers = 0
  #totalMs = 0
  #longestLagMs = 0

  constructor(options: PaceOptions) {
    this.#options = options
    this.#asked = options.usual
    this.#changedMs = options.clock.monotonicMs()
  }

  /** Interval in seconds. */
  get seconds(): number {
    return this.#asked
  }

  get isUsual(): boolean {
    return this.#asked === this.#options.usual
  }

  /**
   * Notes how long the database took for one heartbeat, with the wait in the queue. A full queue refuses at once, which
   * is pressure and no fast answer.
   */
  note(durationMs: number, outcome: 'answered' | 'failed' = 'answered'): void {
    this.#answers += 1
    this.#totalMs += outcome === 'failed' ? Math.max(durationMs, FAILED_MS) : durationMs
    this.#longestLagMs = Math.max(this.#longestLagMs, this.#options.lagMs())
  }

  /** Chooses the next interval from what was noted since the last call. It is stored before nodes are asked for it. */
  async choose(store: (seconds: number) => Promise<void>): Promise<void> {
    const next = this.#next()
    if (next !== this.#options.usual) await store(next)
    if (next === this.#asked) return
    this.#asked = next
    this.#changedMs = this.#options.clock.monotonicMs()
  }

  #next(): number {
    const { clock, usual, slowest, lagMs } = this.#options
    const lag = Math.max(this.#longestLagMs, lagMs())
    const isPressed = lag > SLOW_STORE_MS || this.#totalMs > SLOW_ANSWER_MS * this.#answers
    this.#answers = 0
    this.#totalMs = 0
    this.#longestLagMs = 0
    const ageMs = clock.monotonicMs() - this.#changedMs
    if (isPressed) return ageMs < UP_AFTER_MS ? this.#asked : Math.min(slowest, Math.ceil(this.#asked * 1.5))
    return ageMs < DOWN_AFTER_MS ? this.#asked : Math.max(usual, Math.floor(this.#asked * 0.9))
  }
}

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
