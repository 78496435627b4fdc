import {
  FormError,
  JsonError,
  checkListAdvance,
  isAuthenticList,
  listProblems,
  markOfList,
  readJsonBytes,
  readRevocationList,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Freshness, Instant, ListMark, RevocationList, RevokedEntry } from '@chancery/protocol'
import { buildIndex, indexEntries } from './revocation-index.ts'
import type { IndexEntry, SharedIndex } from './revocation-index.ts'

/** A list somebody offers, and what it is measured by. Plain data: it travels to another thread. */
export interface ListTask {
  readonly bytes: Uint8Array
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
   * The list as it is kept: every signed member, in the reader's own spelling. In shared memory: it goes from this
   * thread through the main one to the store, and copying megabytes on the way would hold every request up.
   */
  readonly body: Uint8Array
  /** What the sticky set gained and lost, as JSON text: it goes to the store without being looked at in between. */
  readonly stickyChange: Uint8Array
}

export type ListOutcome = AcceptedList | { readonly outcome: ListRefusal; readonly body: Uint8Array | undefined }

/** protocol/gateway 9.5: strict JSON, authenticity, 9.1 and 9.2, then the index. Never throws on input. */
export async function judgeList(task: ListTask): Promise<ListOutcome> {
  const list = readOffered(task.bytes)
  if (list === undefined) return { outcome: 'malformed', body: undefined }
  const body = toShared(toUtf8(writeJson(list)))
  const refuse = (outcome: ListRefusal): ListOutcome => ({ outcome, body })
  if (list.issuer !== task.issuer || !(await isAuthenticList(list, task.anchors))) return refuse('unauthentic')
  const mark = markOfList(list)
  const advance = task.held === undefined ? undefined : checkListAdvance(task.held.mark, mark)
  if (advance?.ok === false) return refuse(advance.reason === 'other_issuer' ? 'unauthentic' : advance.reason)
  if (task.demand === 'fresh') {
    const problems = listProblems(mark, task.floor, task.freshness, task.now)
    if (problems.includes('crl_below_floor')) return refuse('rollback')
    if (problems.length > 0) return refuse('stale')
  }
  return accept(task, list, mark, body)
}

function accept(task: ListTask, list: RevocationList, mark: ListMark, body: Uint8Array): AcceptedList {
  const { held } = task
  if (held !== undefined && isSameList(held.mark, mark)) {
    return { outcome: 'unchanged', mark, index: held.index, body, stickyChange: toUtf8(NO_CHANGE) }
  }
  const named = new Set(list.revoked_certificates.map((entry) => entry.certificate_id))
  const kept = held === undefined ? (task.withdrawn ?? []) : [...indexEntries(held.index)]
  const withdrawn = kept.filter((entry) => !named.has(entry.certificate_id))
  const index = buildIndex([...list.revoked_certificates.map(toListed), ...withdrawn.map(toWithdrawn)])
  return { outcome: 'installed', mark, index, body, stickyChange: toUtf8(stickyChange(kept, withdrawn, named)) }
}

const NO_CHANGE = '{"gained":[],"lost":[]}'

function isSameList(held: ListMark, offered: ListMark): boolean {
  return (
    held.sequence === offered.sequence && held.issuedAt === offered.issuedAt && held.nextUpdate === offered.nextUpdate
  )
}

/** Gained: left out by this list for the first time. Lost: withdrawn before and named again, so the list itself holds it. */
function stickyChange(
  kept: readonly (Omit<IndexEntry, 'withdrawn'> & { readonly withdrawn?: boolean })[],
  withdrawn: readonly (Omit<IndexEntry, 'withdrawn'> & { readonly withdrawn?: boolean })[],
  named: ReadonlySet<string>,
): string {
  const gained = withdrawn.filter((entry) => entry.withdrawn === false)
  const lost = kept.filter((entry) => entry.withdrawn !== false && named.has(entry.certificate_id))
  return writeJson({
    gained: gained.map(({ certificate_id, reason, revoked_at }) => ({ certificate_id, reason, revoked_at })),
    lost: lost.map(({ certificate_id }) => certificate_id),
  })
}

function toListed({ certificate_id, reason, revoked_at }: RevokedEntry): IndexEntry {
  return { certificate_id, reason, revoked_at, withdrawn: false }
}

function toWithdrawn({ certificate_id, reason, revoked_at }: Omit<IndexEntry, 'withdrawn'>): IndexEntry {
  return { certificate_id, reason, revoked_at, withdrawn: true }
}

function toShared(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}

const WHOLE_DOCUMENT = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

function readOffered(bytes: Uint8Array): RevocationList | undefined {
  try {
    // Copied where it is shared: decoders do not take shared memory.
    const own = bytes.buffer instanceof SharedArrayBuffer ? bytes.slice() : bytes
    return readRevocationList(readJsonBytes(own, WHOLE_DOCUMENT))
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return undefined
    throw error
  }
}
