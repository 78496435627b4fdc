import {
  bytesOfScan,
  checkListAdvance,
  entriesOfScan,
  isAuthenticScan,
  joinBytes,
  listProblems,
  markOfScan,
  scanRevocationList,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Freshness, Instant, JsonObject, ListMark, ScannedList } from '@chancery/protocol'
import { hasId, indexRows, rowsOfIndex } from './revocation-index.ts'
import type { IndexEntry, IndexRow, SharedIndex } from './revocation-index.ts'

/** A list somebody offers, and what it is measured by. Plain data: it travels to another thread. */
export interface ListTask {
  /** In one piece, or in blocks that are taken out of the array as soon as they are joined. */
  readonly bytes: Uint8Array | Uint8Array[]
  readonly issuer: string
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly floor: number
  readonly freshness: Freshness
  readonly now: Instant
  /** fresh: as offered by a server. signed: as an operator or our own store gives it; age is judged elsewhere. */
  readonly demand: 'fresh' | 'signed'
  readonly held?: { readonly mark: ListMark; readonly index: SharedIndex }
  /** Revocations that earlier lists named; they stay (protocol/gateway 9.3). */
  readonly withdrawn?: readonly Omit<IndexEntry, 'withdrawn'>[]
}

export type ListRefusal = 'malformed' | 'unauthentic' | 'rollback' | 'equivocation' | 'stale'

export interface AcceptedList {
  readonly outcome: 'installed' | 'unchanged'
  readonly mark: ListMark
  readonly index: SharedIndex
  /**
   * The list as it is kept: in canonical form, signatures included. In shared memory: it goes from this
   * thread through the main one to the store, and copying megabytes on the way would hold every request up.
   */
  readonly body: Uint8Array
  /** What the sticky set gained and lost, as JSON text: it goes to the store without being looked at in between. */
  readonly stickyChange: Uint8Array
}

export type ListOutcome = AcceptedList | { readonly outcome: ListRefusal; readonly body: Uint8Array | undefined }

/** protocol/gateway 9.5: the form, authenticity, 9.1 and 9.2, then the index. Never throws on input. */
export async function judgeList(task: ListTask): Promise<ListOutcome> {
  const list = scanRevocationList(wholeOf(task.bytes))
  if (list === undefined) return { outcome: 'malformed', body: undefined }
  // Until the signature is known to be good nothing is made of the entries: who wrote them is not known either.
  if (list.issuer !== task.issuer || !(await isAuthenticScan(list, task.anchors)))
    return { outcome: 'unauthentic', body: undefined }
  const body = bytesOfScan(list, (length) => new Uint8Array(new SharedArrayBuffer(length)))
  const refuse = (outcome: ListRefusal): ListOutcome => ({ outcome, body })
  const mark = markOfScan(list)
  const advance = task.held === undefined ? undefined : checkListAdvance(task.held.mark, mark, task.now)
  if (advance?.ok === false) return refuse(advance.reason === 'other_issuer' ? 'unauthentic' : advance.reason)
  if (task.demand === 'fresh') {
    const problems = listProblems(mark, task.floor, task.freshness, task.now)
    if (problems.includes('crl_below_floor')) return refuse('rollback')
    if (problems.length > 0) return refuse('stale')
  }
  return accept(task, list, mark, body)
}

function accept(task: ListTask, list: ScannedList, mark: ListMark, body: Uint8Array): AcceptedList {
  const { held } = task
  if (held !== undefined && isSameList(held.mark, mark)) {
    return { outcome: 'unchanged', mark, index: held.index, body, stickyChange: toUtf8(NO_CHANGE) }
  }
  const kept = held === undefined ? () => storedRows(task.withdrawn ?? []) : () => rowsOfIndex(held.index)
  const named = indexRows(() => listedRows(list))
  const withdrawn: IndexRow[] = []
  for (const row of kept()) if (!hasId(named, row.id)) withdrawn.push(row)
  const index = withdrawn.length === 0 ? named : indexRows(() => allRows(list, withdrawn))
  return { outcome: 'installed', mark, index, body, stickyChange: toUtf8(stickyChange(kept, named)) }
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

const NO_CHANGE = '{"gained":[],"lost":[]}'

function isSameList(held: ListMark, offered: ListMark): boolean {
  return (
    held.sequence === offered.sequence && held.issuedAt === offered.issuedAt && held.nextUpdate === offered.nextUpdate
  )
}

/** Gained: left out by this list for the first time. Lost: withdrawn before and named again, so the list itself holds it. */
function stickyChange(kept: () => Iterable<IndexRow>, named: SharedIndex): string {
  const [gained, lost]: [JsonObject[], string[]] = [[], []]
  for (const { id, reason, revokedAt, withdrawn } of kept()) {
    const isNamed = hasId(named, id)
    if (withdrawn && isNamed) lost.push(textOf(id))
    if (!withdrawn && !isNamed)
      gained.push({ certificate_id: textOf(id), reason: textOf(reason), revoked_at: textOf(revokedAt) })
  }
  return writeJson({ gained, lost })
}

/** Copied: decoders do not take shared memory. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

function wholeOf(bytes: Uint8Array | Uint8Array[]): Uint8Array {
  if (Array.isArray(bytes)) return joinBytes(bytes.splice(0))
  return bytes.buffer instanceof SharedArrayBuffer ? bytes.slice() : bytes
}
