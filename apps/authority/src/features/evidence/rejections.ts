import { type Hash, createHash } from 'node:crypto'
import type { RefusalCode } from '@chancery/contract'
import { DAY, HOUR, type Instant, type JsonObject, MINUTE, type RejectedDecision } from '@chancery/protocol'
import { limitAddress } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Core } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import type { RejectionRow } from './queries/entries.ts'

/**
 * Maximum number of separate entries for unknown signers, over all instances (protocol/trust-operations 6.14). The
 * daily limit is our own. Audit events of repeated submissions have the same limits, counted separately.
 */
export const SINGLES_PER_MINUTE = 60
export const SINGLES_PER_DAY = 3000
/** Limit for one address on one instance, so that one caller cannot use up the whole minute. */
export const SINGLES_PER_ADDRESS = 30
/** Number of counts per minute that an instance appends in a day. After that, counts are per hour. */
export const SUMMARIES_PER_DAY = 500
const MAX_SUMS = 5000

/** The names that are stored of a refused submission. Its content is not stored. */
export type RejectionFields = Pick<
  RejectionRow,
  'submitted_digest' | 'evidence_id' | 'decision_id' | 'resource_id' | 'executor_sovereign_id'
>

/** A submission that was refused. */
export interface Rejected {
  readonly code: RefusalCode
  readonly names: RejectionFields
  readonly cause: JsonObject
  /** The signer is verified. Includes the named decision, if it is stored. */
  readonly executor?: { readonly decision: RejectedDecision | undefined }
}

/** The count of refused submissions of one minute or one hour. */
export interface SummaryItem {
  readonly kind: 'summary'
  readonly code: RefusalCode
  readonly count: number
  /** Over the digests of the submissions in hexadecimal, joined in order of arrival. */
  readonly submitted_digest: string
}

/** The count of repeated submissions. */
export interface DuplicatesItem {
  readonly kind: 'duplicates'
  readonly count: number
}

interface Sum {
  /** End of its minute or hour. */
  readonly ends: Instant
  /** Undefined for duplicates. */
  readonly code: RefusalCode | undefined
  readonly hash: Hash
  count: number
}

/** What is limited: refused submissions, and repeated ones. */
export type BoundedKind = keyof typeof SPANS

/**
 * Limits what unauthenticated callers can add to the store: some submissions per minute are entries or events, the rest
 * is counted here and becomes one entry per code. A crash loses these counts; they are then only in the log.
 */
export class RejectionBook {
  readonly #sums = new Map<string, Sum>()
  readonly #closedUntil: Record<BoundedKind, Instant> = { rejected: 0n, duplicate: 0n }
  #summaries = { day: 0n, count: 0 }

  /** True when this process can decide, without a read or a lock, that the next one would not be an entry. */
  isFull({ clock, limits }: Limits, cause: JsonObject): boolean {
    const isClosed = clock.now() < this.#closedUntil.rejected
    return isClosed || limits.local.isOver(bucketOf('rejected', cause), SINGLES_PER_ADDRESS) === true
  }

  /** Under the lock of the store: returns whether one more may be an entry or an event. */
  async take(tx: Transaction, kind: BoundedKind, { clock, limits }: Limits, cause: JsonObject): Promise<boolean> {
    const now = clock.now()
    if (now < this.#closedUntil[kind]) return false
    if (limits.local.hit(bucketOf(kind, cause), SINGLES_PER_ADDRESS) !== true) return false
    for (const [span, length, most] of SPANS[kind]) {
      if ((await countOne(tx, span, now / length)) <= most) continue
      this.#closedUntil[kind] = (now / MINUTE + 1n) * MINUTE
      return false
    }
    return true
  }

  add(now: Instant, code: RefusalCode, submitted_digest: string): void {
    this.#sum(now, code).hash.update(submitted_digest)
  }

  addDuplicate(now: Instant): void {
    this.#sum(now, undefined)
  }

  /** Appends the counts whose period ended before `now`. A count that could not be appended stays. */
  async appendEnded(now: Instant, append: (item: SummaryItem | DuplicatesItem) => Promise<unknown>): Promise<void> {
    for (const [key, { ends, code, hash, count }] of this.#sums) {
      if (ends > now) continue
      if (code === undefined) await append({ kind: 'duplicates', count })
      else await append({ kind: 'summary', code, count, submitted_digest: hash.copy().digest('hex') })
      this.#sums.delete(key)
      this.#appendedOn(now / DAY).count += 1
    }
  }

  /** Adds one to the count of its code. */
  #sum(now: Instant, code: RefusalCode | undefined): Sum {
    const length = this.#appendedOn(now / DAY).count < SUMMARIES_PER_DAY ? MINUTE : HOUR
    const ends = (now / length + 1n) * length
    const key = `${ends} ${code ?? ''}`
    const sum = this.#sums.get(key) ?? { ends, code, hash: createHash('sha256'), count: 0 }
    sum.count += 1
    this.#sums.set(key, sum)
    // Only while nothing can be appended for hours.
    const [oldest] = this.#sums.keys()
    if (this.#sums.size > MAX_SUMS && oldest !== undefined) this.#sums.delete(oldest)
    return sum
  }

  #appendedOn(day: Instant): { readonly day: Instant; count: number } {
    if (this.#summaries.day !== day) this.#summaries = { day, count: 0 }
    return this.#summaries
  }
}

type Limits = Pick<Core, 'clock' | 'limits'>

function bucketOf(kind: BoundedKind, cause: JsonObject): string {
  const address = cause['remote_addr']
  return `evidence-${kind} ${typeof address === 'string' ? limitAddress(address) : ''}`
}

const SPANS = {
  rejected: [
    ['minute', MINUTE, SINGLES_PER_MINUTE],
    ['day', DAY, SINGLES_PER_DAY],
  ],
  duplicate: [
    ['duplicate-minute', MINUTE, SINGLES_PER_MINUTE],
    ['duplicate-day', DAY, SINGLES_PER_DAY],
  ],
} as const

/** One row per period. The store is locked, so no other process counts at the same time. */
async function countOne(tx: Transaction, span: string, number: bigint): Promise<number> {
  const row = await tx.query
    .updateTable('evidence_rejection_counts')
    .set({
      number: Number(number),
      singles: sql<number>`case when number = ${Number(number)} then singles + 1 else 1 end`,
    })
    .where('span', '=', span)
    .returning('singles')
    .executeTakeFirst()
  return Number(row?.singles ?? Number.POSITIVE_INFINITY)
}
