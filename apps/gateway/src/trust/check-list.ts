import {
  applyListDelta,
  bytesOfScan,
  checkListAdvance,
  countEntries,
  entriesOfScan,
  isAuthenticScan,
  joinBytes,
  listProblems,
  positionOfScan,
  readListDelta,
  scanRevocationList,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Freshness, Instant, JsonObject, ListPosition, ScannedList } from '@chancery/protocol'
import { type IndexEntry, type IndexRow, type SharedIndex, hasId, indexRows, rowsOfIndex } from './revocation-index.ts'

/** An offered list and what it is checked against. Plain data, so that it can be sent to another thread. */
export interface ListTask {
  /** In one piece, or in blocks that are removed from the array when they are joined. */
  readonly bytes: Uint8Array | Uint8Array[]
  readonly issuer: string
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly floor: number
  readonly freshness: Freshness
  readonly now: Instant
  /** fresh: offered by a server. signed: from an operator or the own store; its age is checked elsewhere. */
  readonly demand: 'fresh' | 'signed'
  /** The bytes are a delta of this list, which is the current one. */
  readonly delta?: { readonly base: Uint8Array; readonly maxBytes: number }
  readonly current?: { readonly position: ListPosition; readonly index: SharedIndex }
  /** Revocations that earlier lists named. They stay in force (protocol/gateway 9.3). */
  readonly withdrawn?: readonly Omit<IndexEntry, 'withdrawn'>[]
}

export type ListRefusal = 'malformed' | 'unauthentic' | 'rollback' | 'equivocation' | 'stale'

export interface AcceptedList {
  readonly outcome: 'installed' | 'unchanged'
  readonly position: ListPosition
  readonly index: SharedIndex
  /**
   * The list as it is stored: in canonical form, with signatures. It is in shared memory, because it moves from this
   * thread through the main one to the store, and copying megabytes would delay every request.
   */
  readonly body: Uint8Array
  /** Changes of the withdrawn revocations as JSON text. The main thread passes it on unread. */
  readonly withdrawnChange: Uint8Array
}

export type ListOutcome = AcceptedList | { readonly outcome: ListRefusal; readonly body: Uint8Array | undefined }

/**
 * Checks a list by protocol/gateway 9.5: the form, authenticity, 9.1 and 9.2, then the index. Never throws on input.
 */
export async function checkList(task: ListTask): Promise<ListOutcome> {
  const list = task.delta === undefined ? scanRevocationList(wholeOf(task.bytes)) : rebuildList(task, task.delta)
  if (list === 'same') return acceptSame(task)
  if (list === undefined) return { outcome: 'malformed', body: undefined }
  // The entries are used only after the signature is verified.
  if (list.issuer !== task.issuer || !(await isAuthenticScan(list, task.anchors)))
    return { outcome: 'unauthentic', body: undefined }
  const body = bytesOfScan(list, (length) => new Uint8Array(new SharedArrayBuffer(length)))
  const refuse = (outcome: ListRefusal): ListOutcome => ({ outcome, body })
  const position = positionOfScan(list)
  const advance = task.current === undefined ? undefined : checkListAdvance(task.current.position, position, task.now)
  if (advance?.ok === false) return refuse(advance.reason === 'other_issuer' ? 'unauthentic' : advance.reason)
  if (task.demand === 'fresh') {
    const problems = listProblems(position, task.floor, task.freshness, task.now)
    if (problems.includes('crl_below_floor')) return refuse('rollback')
    if (problems.length > 0) return refuse('stale')
  }
  return accept(task, list, position, body)
}

/**
 * Rebuilds the list that a delta makes of the current one. It is checked as any list: only the transfer differs. `same`
 * when the delta says that nothing changed, which then changes nothing here.
 */
function rebuildList(
  { bytes, current }: ListTask,
  { base, maxBytes }: NonNullable<ListTask['delta']>,
): ScannedList | 'same' | undefined {
  const delta = readListDelta(wholeOf(bytes))
  if (delta === undefined || current === undefined) return undefined
  const { position } = current
  const isEmpty = delta.removed.length === 0 && delta.added.length === 0
  const isOfSameList = delta.fromSequence === position.sequence && isSameList(position, positionOfScan(delta.list))
  if (isEmpty && isOfSameList) return 'same'
  const entries = entriesOfBody(base)
  if (entries === undefined) return undefined
  const { issuer, sequence } = position
  const start = { issuer, sequence, entries, count: countEntries(entries), hasForeignEntry: false }
  return applyListDelta(start, delta, 'any', maxBytes)
}

/** The entries of a list as it is stored: in canonical form, where no text contains these words with their quotes. */
function entriesOfBody(body: Uint8Array): Uint8Array | undefined {
  const view = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const [start, end] = [view.indexOf(ENTRIES), view.lastIndexOf(AFTER_ENTRIES)]
  return start < 0 || end < 0 ? undefined : body.subarray(start + ENTRIES.length - 1, end + 1)
}

const [ENTRIES, AFTER_ENTRIES] = [',"revoked_certificates":[', '],"sequence":']

/** Not fresh: the full list is read, and says so. */
function acceptSame({ current, delta, floor, freshness, now }: ListTask): ListOutcome {
  if (current === undefined || delta === undefined) return { outcome: 'malformed', body: undefined }
  const { position, index } = current
  if (listProblems(position, floor, freshness, now).length > 0) return { outcome: 'stale', body: undefined }
  return { outcome: 'unchanged', position, index, body: delta.base, withdrawnChange: toUtf8(NO_CHANGE) }
}

function accept(task: ListTask, list: ScannedList, position: ListPosition, body: Uint8Array): AcceptedList {
  const { current: held } = task
  if (held !== undefined && isSameList(held.position, position)) {
    return { outcome: 'unchanged', position, index: held.index, body, withdrawnChange: toUtf8(NO_CHANGE) }
  }
  const previous = held === undefined ? () => storedRows(task.withdrawn ?? []) : () => rowsOfIndex(held.index)
  const named = indexRows(() => listedRows(list))
  const withdrawn: IndexRow[] = []
  for (const row of previous()) if (!hasId(named, row.id)) withdrawn.push(row)
  const index = withdrawn.length === 0 ? named : indexRows(() => allRows(list, withdrawn))
  return { outcome: 'installed', position, index, body, withdrawnChange: toUtf8(withdrawnChange(previous, named)) }
}

function* listedRows(list: ScannedList): Generator<IndexRow> {
  for (const entry of entriesOfScan(list)) yield { ...entry, withdrawn: false }
}

function* storedRows(entries: NonNullable<ListTask['withdrawn']>): Generator<IndexRow> {
  for (const { certificate_id, reason, revoked_at } of entries)
    yield { id: toUtf8(certificate_id), reason: toUtf8(reason), revokedAt: toUtf8(revoked_at), withdrawn: true }
}

function* allRows(list: ScannedList, withdrawn: readonly IndexRow[]): Generator<IndexRow> {
  yield* listedRows(list)
  for (const row of withdrawn) yield { ...row, withdrawn: true }
}

export const NO_CHANGE = '{"gained":[],"lost":[]}'

function isSameList(current: ListPosition, offered: ListPosition): boolean {
  return (
    current.sequence === offered.sequence &&
    current.issuedAt === offered.issuedAt &&
    current.nextUpdate === offered.nextUpdate
  )
}

/**
 * Returns gained entries, which this list leaves out for the first time, and lost entries, which were withdrawn and are
 * named again.
 */
function withdrawnChange(previous: () => Iterable<IndexRow>, named: SharedIndex): string {
  const [gained, lost]: [JsonObject[], string[]] = [[], []]
  for (const { id, reason, revokedAt, withdrawn } of previous()) {
    const isNamed = hasId(named, id)
    if (withdrawn && isNamed) lost.push(textOf(id))
    if (!withdrawn && !isNamed)
      gained.push({ certificate_id: textOf(id), reason: textOf(reason), revoked_at: textOf(revokedAt) })
  }
  return writeJson({ gained, lost })
}

/** Copied, because decoders refuse shared memory. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

function wholeOf(bytes: Uint8Array | Uint8Array[]): Uint8Array {
  if (Array.isArray(bytes)) return joinBytes(bytes.splice(0))
  return bytes.buffer instanceof SharedArrayBuffer ? bytes.slice() : bytes
}
