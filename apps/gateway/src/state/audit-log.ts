import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, isJsonObject, readInstant, readJson, sha256Hex } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { readLedger, writeLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'

/** One event as it is kept: the canonical text its hash covers, and the hash. */
export interface AuditRow {
  readonly sequence: number
  readonly body: string
  readonly hash: string
}

/** Inside the caller's transaction: each event gets its number and its link, and waits for delivery. */
export function appendEvents(db: DatabaseSync, events: readonly JsonObject[]): void {
  const ledger = readLedger(db)
  let [sequence, prev_hash] = [ledger.head_sequence, ledger.head_hash]
  let pendingSum = 0
  const put = db.prepare('insert into audit (sequence, body, hash) values (?, ?, ?)')
  const wait = db.prepare('insert into outbox (sequence, attempts) values (?, 0)')
  for (const event of events) {
    sequence += 1
    const body = canonicalJson({ ...event, sequence, prev_hash })
    prev_hash = sha256Hex(body)
    put.run(sequence, body, prev_hash)
    wait.run(sequence)
    pendingSum += sequence
  }
  writeLedger(db, {
    ...ledger,
    head_sequence: sequence,
    head_hash: prev_hash,
    pending_count: ledger.pending_count + events.length,
    pending_sum: ledger.pending_sum + pendingSum,
  })
}

/** The event with its hash, as it is delivered and exported. */
export function eventText({ body, hash }: AuditRow): string {
  return `${body.slice(0, -1)},"hash":"${hash}"}`
}

/** Stable from the first delivery to the last: collectors tell repetitions by it. */
export function eventId(row: AuditRow): string {
  const event = readJson(row.body)
  if (!isJsonObject(event)) throw new Error('an audit event is an object')
  const { request_id, phase, event_id } = event
  if (typeof event_id === 'string') return event_id
  if (typeof request_id !== 'string' || typeof phase !== 'string') throw new Error('an audit event has an id')
  return `${request_id}:${phase}`
}

const PAGE_ROWS = 1000

/** Oldest first up to `through`, page by page: a long read must not keep the writer of a live gateway waiting. */
export function* auditRows(db: DatabaseSync, through: number): Generator<AuditRow> {
  const page = db.prepare('select * from audit where sequence > ? and sequence <= ? order by sequence limit ?')
  let last = 0
  for (;;) {
    const rows = page.all(last, through, PAGE_ROWS) as unknown as AuditRow[]
    yield* rows
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.sequence
  }
}

/** The first place where the chain does not hold, or undefined. */
export function findBrokenLink(db: DatabaseSync, ledger: Ledger): number | undefined {
  const chain = new Chain(ledger)
  for (const row of auditRows(db, ledger.head_sequence)) if (!chain.follow(row)) return chain.expected
  return chain.isWhole ? undefined : chain.expected
}

/** Follows the chain from the oldest event kept to the head. */
export class Chain {
  readonly #ledger: Ledger
  #previous: string | null
  /** Number of the event that comes next. */
  expected: number

  constructor(ledger: Ledger) {
    this.#ledger = ledger
    this.#previous = ledger.first_prev_hash
    this.expected = ledger.first_sequence
  }

  /** False for a row that is not the next event; a damaged one may hold anything, also nothing. */
  follow({ sequence, body, hash }: AuditRow): boolean {
    if (sequence !== this.expected || typeof body !== 'string' || sha256Hex(body) !== hash) return false
    const link = `"prev_hash":${this.#previous === null ? 'null' : `"${this.#previous}"`}`
    if (!body.includes(link) || !body.includes(`"sequence":${sequence}`)) return false
    this.expected += 1
    this.#previous = hash
    return true
  }

  get isWhole(): boolean {
    const { head_sequence, head_hash } = this.#ledger
    return this.expected - 1 === head_sequence && this.#previous === head_hash
  }
}

/** Of one delivery, in characters: a hundred large batches in one body would neither fit memory nor arrive in time. */
const DELIVERY_CHARACTERS = 1_048_576

/** An event the collector never takes is set aside after so many attempts (protocol/gateway 16.4). */
export const MAX_ATTEMPTS = 10

/** Waiting events block those behind them; those set aside are tried now and then, and block nobody. */
export type PendingKind = 'waiting' | 'set-aside'

/** Oldest first. */
export function pendingRows(db: DatabaseSync, limit: number, kind: PendingKind): AuditRow[] {
  const select = db.prepare(
    `select audit.sequence, body, hash from outbox join audit using (sequence)
     where attempts ${kind === 'waiting' ? '<' : '>='} ? order by sequence limit ?`,
  )
  return upToOneDelivery(select.iterate(MAX_ATTEMPTS, limit))
}

/** At least one, however large: it would otherwise never leave. */
function upToOneDelivery(found: Iterable<unknown>): AuditRow[] {
  const rows: AuditRow[] = []
  let size = 0
  for (const each of found) {
    const row = each as AuditRow
    size += row.body.length
    if (rows.length > 0 && size > DELIVERY_CHARACTERS) break
    rows.push(row)
  }
  return rows
}

/**
 * Inside the caller's transaction: what the collector confirmed leaves the outbox; what it refused was tried once more.
 * Gives how many were set aside just now.
 */
export function settleDelivery(db: DatabaseSync, acknowledged: readonly number[], refused: readonly number[]): number {
  const take = db.prepare('delete from outbox where sequence = ?')
  const ledger = readLedger(db)
  let [count, sum] = [ledger.pending_count, ledger.pending_sum]
  for (const sequence of acknowledged) {
    if (take.run(sequence).changes === 0) continue
    count -= 1
    sum -= sequence
  }
  const tried = db.prepare('update outbox set attempts = attempts + 1 where sequence = ? returning attempts')
  const setAside = refused.filter((sequence) => tried.get(sequence)?.['attempts'] === MAX_ATTEMPTS).length
  writeLedger(db, { ...ledger, pending_count: count, pending_sum: sum })
  return setAside
}

export interface Pruned {
  readonly removed_through: number
  readonly removed_hash: string
  readonly removed_count: number
}

/**
 * Inside the caller's transaction: removes events older than `before`, from the oldest on and only up to the first that
 * is not acknowledged. The link to what was removed stays in the ledger.
 */
export function pruneEvents(db: DatabaseSync, before: Instant, maxRows: number): Pruned | undefined {
  const ledger = readLedger(db)
  const unsent = db.prepare('select min(sequence) as first from outbox').get() as { first: number | null } | undefined
  const end = unsent?.first ?? ledger.head_sequence + 1
  let last: AuditRow | undefined
  for (const row of db
    .prepare('select * from audit where sequence < ? order by sequence limit ?')
    .iterate(end, maxRows)) {
    const event = row as unknown as AuditRow
    if (!isOlder(event, before)) break
    last = event
  }
  if (last === undefined) return undefined
  db.prepare('delete from audit where sequence <= ?').run(last.sequence)
  const removed_count = last.sequence - ledger.first_sequence + 1
  writeLedger(db, { ...ledger, first_sequence: last.sequence + 1, first_prev_hash: last.hash })
  return { removed_through: last.sequence, removed_hash: last.hash, removed_count }
}

function isOlder(row: AuditRow, before: Instant): boolean {
  const event = readJson(row.body)
  const at = isJsonObject(event) && typeof event['at'] === 'string' ? readInstant(event['at']) : undefined
  return at !== undefined && at < before
}
