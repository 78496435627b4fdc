import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, isJsonObject, readInstant, readJson, sha256Hex } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { type StateValues, readStateValues, writeStateValues } from './state-values.ts'

/** One stored event: the canonical text that its hash covers, and the hash. */
export interface AuditRow {
  readonly sequence: number
  readonly body: string
  readonly hash: string
}

/**
 * Appends events inside the caller's transaction: each gets its sequence and its link, and waits for delivery unless
 * there is no collector.
 */
export function appendEvents(db: DatabaseSync, events: readonly JsonObject[], hasCollector = true): void {
  const values = readStateValues(db)
  let [sequence, prev_hash] = [values.head_sequence, values.head_hash]
  let [pending_count, pending_sum] = [values.pending_count, values.pending_sum]
  const put = db.prepare('insert into audit (sequence, body, hash) values (?, ?, ?)')
  const wait = db.prepare('insert into outbox (sequence, attempts) values (?, 0)')
  for (const event of events) {
    sequence += 1
    const body = canonicalJson({ ...event, sequence, prev_hash })
    prev_hash = sha256Hex(body)
    put.run(sequence, body, prev_hash)
    if (!hasCollector) continue
    wait.run(sequence)
    pending_count += 1
    pending_sum += sequence
  }
  writeStateValues(db, { ...values, head_sequence: sequence, head_hash: prev_hash, pending_count, pending_sum })
}

/**
 * Empties the outbox inside the caller's transaction: without a collector nothing would ever leave it, and its events
 * could not be removed. Returns how many events waited.
 */
export function releaseOutbox(db: DatabaseSync): number {
  const values = readStateValues(db)
  db.exec('delete from outbox')
  writeStateValues(db, { ...values, pending_count: 0, pending_sum: 0 })
  return values.pending_count
}

/** Returns the event with its hash, as it is delivered and exported. */
export function eventText({ body, hash }: AuditRow): string {
  return `${body.slice(0, -1)},"hash":"${hash}"}`
}

/** Returns the id of an event. It never changes, so that collectors can detect repetitions. */
export function eventId(row: AuditRow): string {
  const event = readJson(row.body)
  if (!isJsonObject(event)) throw new Error('an audit event is an object')
  const { request_id, phase, event_id } = event
  if (typeof event_id === 'string') return event_id
  if (typeof request_id !== 'string' || typeof phase !== 'string') throw new Error('an audit event has an id')
  return `${request_id}:${phase}`
}

const PAGE_ROWS = 1000

/**
 * Yields events up to `through`, oldest first and page by page: a long read must not block the writer of a running
 * gateway.
 */
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

/** Returns the events of one request among the newest ones, oldest first. An id has no character that JSON escapes. */
export function requestRows(db: DatabaseSync, requestId: string, newest: number): AuditRow[] {
  const { head_sequence } = readStateValues(db)
  return db
    .prepare('select * from audit where sequence > ? and instr(body, ?) > 0 order by sequence')
    .all(head_sequence - newest, `"request_id":"${requestId}"`) as unknown as AuditRow[]
}

/** Returns the sequence where the chain breaks, or undefined. */
export function findBrokenLink(db: DatabaseSync, values: StateValues): number | undefined {
  const chain = new Chain(values)
  for (const row of auditRows(db, values.head_sequence)) if (!chain.follow(row)) return chain.expected
  return chain.isWhole ? undefined : chain.expected
}

/** Follows the chain from the oldest stored event to the head. */
export class Chain {
  readonly #ledger: StateValues
  #previous: string | null
  /** Sequence of the next event. */
  expected: number

  constructor(values: StateValues) {
    this.#ledger = values
    this.#previous = values.first_prev_hash
    this.expected = values.first_sequence
  }

  /** Returns false for a row that is not the next event. A damaged row may have any values. */
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

/**
 * Limit of one delivery in characters: a hundred large batches in one body would neither fit into memory nor arrive in
 * time.
 */
const DELIVERY_CHARACTERS = 1_048_576

/** After this many attempts an event moves to the rejected queue (protocol/gateway 16.4). */
export const MAX_ATTEMPTS = 10

/** Waiting events block later ones. Rejected events are tried once a minute and block none. */
export type PendingKind = 'waiting' | 'rejected'

/** Returns undelivered events, oldest first. */
export function pendingRows(db: DatabaseSync, limit: number, kind: PendingKind): AuditRow[] {
  const select = db.prepare(
    `select audit.sequence, body, hash from outbox join audit using (sequence)
     where attempts ${kind === 'waiting' ? '<' : '>='} ? order by sequence limit ?`,
  )
  return limitToOneDelivery(select.iterate(MAX_ATTEMPTS, limit))
}

/** Returns at least one event, of any size, because it would otherwise never be delivered. */
function limitToOneDelivery(found: Iterable<unknown>): AuditRow[] {
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
 * Completes a delivery inside the caller's transaction: acknowledged events leave the outbox, refused events have used
 * one attempt. Returns how many moved to the rejected queue.
 */
export function completeDelivery(
  db: DatabaseSync,
  acknowledged: readonly number[],
  refused: readonly number[],
): number {
  const take = db.prepare('delete from outbox where sequence = ?')
  const values = readStateValues(db)
  let [count, sum] = [values.pending_count, values.pending_sum]
  for (const sequence of acknowledged) {
    if (take.run(sequence).changes === 0) continue
    count -= 1
    sum -= sequence
  }
  const tried = db.prepare('update outbox set attempts = attempts + 1 where sequence = ? returning attempts')
  const rejected = refused.filter((sequence) => tried.get(sequence)?.['attempts'] === MAX_ATTEMPTS).length
  writeStateValues(db, { ...values, pending_count: count, pending_sum: sum })
  return rejected
}

export interface PruneResult {
  readonly removed_through: number
  readonly removed_hash: string
  readonly removed_count: number
}

/** Removes events that are older than `before`, or all but the newest `keep`. */
export type PruneLimit = { readonly before: Instant } | { readonly keep: number }

/**
 * Removes events inside the caller's transaction, oldest first and only up to the first one that waits for the
 * collector. The table `ledger` stores the link to the removed events.
 */
export function pruneEvents(db: DatabaseSync, limit: PruneLimit, maxRows: number): PruneResult | undefined {
  const values = readStateValues(db)
  const unsent = db.prepare('select min(sequence) as first from outbox').get() as { first: number | null } | undefined
  const sent = unsent?.first ?? values.head_sequence + 1
  const end = 'keep' in limit ? Math.min(sent, values.head_sequence + 1 - limit.keep) : sent
  let last: AuditRow | undefined
  for (const row of db
    .prepare('select * from audit where sequence < ? order by sequence limit ?')
    .iterate(end, maxRows)) {
    const event = row as unknown as AuditRow
    if ('before' in limit && !isOlder(event, limit.before)) break
    last = event
  }
  if (last === undefined) return undefined
  db.prepare('delete from audit where sequence <= ?').run(last.sequence)
  const removed_count = last.sequence - values.first_sequence + 1
  writeStateValues(db, { ...values, first_sequence: last.sequence + 1, first_prev_hash: last.hash })
  return { removed_through: last.sequence, removed_hash: last.hash, removed_count }
}

function isOlder(row: AuditRow, before: Instant): boolean {
  const at = timeOfEvent(row)
  return at !== undefined && at < before
}

export function timeOfEvent({ body }: Pick<AuditRow, 'body'>): Instant | undefined {
  const event = readJson(body)
  return isJsonObject(event) && typeof event['at'] === 'string' ? readInstant(event['at']) : undefined
}
