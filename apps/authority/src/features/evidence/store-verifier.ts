import { SharedRead } from '@chancery/service-kit'
import { isJsonObject, readJson, readReceived, readStoredLine, storeAnchorForm } from '@chancery/protocol'
import type { JsonObject, StoreAnchor, StoreReport } from '@chancery/protocol'
import { readEvidenceHead } from './queries/chain.ts'
import { DatabaseThread } from '../../database/worker/thread.ts'
import { type StoreIdentity, inspectLinks, inspectPrefix, inspectStore, inspectView } from './verify-store.ts'
import type { InspectionCalls, InspectionData } from './store-verifier-thread.ts'
import { type AnchorRow, type Run, measureRun } from './queries/entries.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { findExecutorKeys } from './queries/lookups.ts'
import { Refusal } from '@chancery/contract'
import type { OperatorCall } from '../../auth/operator.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { readPosition, readWhole, writeCursor } from '../../requests/paging.ts'
import { type RejectedPosition, listRejectedEntries, listRejectedRows } from './queries/rejected.ts'

export interface EvidenceParts
  extends FeatureBase, Pick<Core, 'instance' | 'isServing' | 'limits' | 'purgeClock' | 'reads' | 'rollback'> {
  readonly settings: Pick<
    AuthoritySettings,
    | 'anchorIntervalSeconds'
    | 'budgetWarningPercent'
    | 'budgetsMax'
    | 'databaseLocation'
    | 'evidenceRejections'
    | 'evidenceStore'
    | 'keyBytesPerDay'
    | 'partnerBytesPerDay'
  >
}

/**
 * Up to this number of entries and bytes, verification takes milliseconds. A larger store is verified in a separate
 * thread.
 */
const INLINE_ENTRIES = 200
const INLINE_BYTES = 512 * 1024
/** A report that took this long is returned again for some time, because callers cannot wait for the next one. */
const LONG_MS = 10_000
const CACHED_MS = 300_000

type LinkRun = Parameters<typeof inspectLinks>[1]
type LinkResult = Awaited<ReturnType<typeof inspectLinks>>

/**
 * Verifies small stores on the event loop, and large ones in a separate thread with its own connection. Concurrent
 * callers share a report. A verification continues after its caller has left, and the next caller gets the result.
 */
export class StoreVerifier {
  #thread: DatabaseThread | undefined
  #report: SharedRead<JsonObject> | undefined
  #running: { readonly since: number; readonly result: Promise<JsonObject> } | undefined
  #long: { readonly until: number; readonly report: JsonObject } | undefined

  async report(parts: EvidenceParts): Promise<JsonObject> {
    const now = parts.clock.monotonicMs()
    if (this.#long !== undefined && now < this.#long.until) return this.#long.report
    if (this.#running !== undefined && now - this.#running.since > LONG_MS) return this.#running.result
    this.#report ??= new SharedRead(() => this.#inspectStore(parts))
    return this.#report.read()
  }

  async prefix(parts: EvidenceParts, through: number): Promise<StoreReport> {
    const { removed_through } = await readEvidenceHead(parts.database.read)
    if (await isSmall(parts, { after: removed_through, through }))
      return inspectPrefix(parts.database.read, identityOf(parts), through)
    return this.#ask(parts, 'prefix', through)
  }

  async view(parts: EvidenceParts, lines: readonly string[], resource: string | undefined): Promise<StoreReport> {
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    if (lines.length <= INLINE_ENTRIES && bytes <= INLINE_BYTES)
      return inspectView(parts.database.read, identityOf(parts), lines, resource)
    return this.#ask(parts, 'view', { lines, resource })
  }

  async links(parts: EvidenceParts, run: LinkRun): Promise<LinkResult> {
    if (await isSmall(parts, run)) return inspectLinks(parts.database.read, run)
    return this.#ask(parts, 'links', run)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  async #inspectStore(parts: EvidenceParts): Promise<JsonObject> {
    const since = parts.clock.monotonicMs()
    const result = this.#runStore(parts)
    this.#running = { since, result }
    try {
      const report = await result
      const end = parts.clock.monotonicMs()
      this.#long = end - since > LONG_MS ? { until: end + CACHED_MS, report } : undefined
      return report
    } finally {
      this.#running = undefined
    }
  }

  async #runStore(parts: EvidenceParts): Promise<JsonObject> {
    const { last_sequence, removed_through } = await readEvidenceHead(parts.database.read)
    if (await isSmall(parts, { after: removed_through, through: last_sequence }))
      return inspectStore(parts.database.read, identityOf(parts))
    return this.#ask(parts, 'store', undefined)
  }

  /** A dead thread is replaced. Its queued requests were refused. */
  #ask<Name extends keyof InspectionCalls>(
    parts: EvidenceParts,
    name: Name,
    argument: Parameters<InspectionCalls[Name]>[0],
  ): ReturnType<InspectionCalls[Name]> {
    if (this.#thread === undefined || this.#thread.hasEnded) {
      const data: InspectionData = { place: parts.settings.databaseLocation, identity: identityOf(parts) }
      this.#thread = new DatabaseThread('./store-verifier-thread', import.meta.url, data)
    }
    // The thread runs exactly this operation: both sides are compiled from InspectionCalls.
    return this.#thread.call(name, argument) as ReturnType<InspectionCalls[Name]>
  }
}

async function isSmall(parts: EvidenceParts, run: Run): Promise<boolean> {
  return run.through - run.after <= INLINE_ENTRIES && (await measureRun(parts.database.read, run)) <= INLINE_BYTES
}

function identityOf(parts: EvidenceParts): StoreIdentity {
  return { publicKeys: parts.keys.all, sovereign: parts.network.name }
}

const MAX_KEYS = 1000

/**
 * Caches public keys by their id, so that a signature can be verified before the chain is locked without a database
 * read each time. The cache alone admits nothing: under the lock the key is read again and compared.
 */
export class ExecutorKeyCache {
  readonly #keys = new Map<string, string>()

  async find(parts: EvidenceParts, key_id: string): Promise<string | undefined> {
    const known = this.#keys.get(key_id)
    if (known !== undefined) return known
    const [row] = await findExecutorKeys(parts.database, parts.database.read, [key_id])
    if (row === undefined) return undefined
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear()
    this.#keys.set(key_id, row.public_key)
    return row.public_key
  }
}

/** The anchor as signed. Its columns are only used to find it. */
export function readAnchor(row: Pick<AnchorRow, 'anchor_json'>): StoreAnchor {
  return readReceived(storeAnchorForm, readJson(row.anchor_json)).record
}

const MAX_ROWS = 100

/** A refused submission, from the chain or from the table; NA_EVIDENCE_REJECTIONS chose when it was refused. */
interface Rejected {
  /** For the order: the sortable time. */
  readonly at: string
  readonly view: JsonObject
  /** The position after it. */
  readonly place: Partial<RejectedPosition>
}

/**
 * GET /admin/evidence/rejections
 * Returns refused submissions, newest first. The submitted record itself is not stored, only its digest and the names
 * that it claimed.
 */
export async function rejected(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const { query } = call
  const limit = readWhole(query.first('limit') ?? '50', 1, MAX_ROWS)
  const cursor = query.first('cursor')
  const from = cursor === undefined ? { before: Number.MAX_SAFE_INTEGER, row: undefined } : readPlace(cursor)
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const entries = await listRejectedEntries(db, { after: removed_through, before: from.before, limit: limit + 1 })
  const rows = await listRejectedRows(db, { before: from.row, limit: limit + 1 })
  // Stable: at equal times each source keeps its own order, which the cursor continues.
  const all = [...entries.map(fromEntry), ...rows.map(fromRow)].toSorted(newestFirst)
  const shown = all.slice(0, limit)
  const place: RejectedPosition = Object.assign({ ...from }, ...shown.map((each) => each.place))
  return {
    count: shown.length,
    rejections: shown.map(({ view }) => view),
    next_cursor: all.length > limit ? writeCursor(writePlace(place)) : null,
  }
}

function newestFirst(a: Rejected, b: Rejected): number {
  if (a.at === b.at) return 0
  return a.at < b.at ? 1 : -1
}

function fromEntry({
  store_sequence,
  recorded_at,
  line,
}: Awaited<ReturnType<typeof listRejectedEntries>>[number]): Rejected {
  const payload = readStoredLine(line)?.payload
  const stored = payload !== undefined && isJsonObject(payload) ? payload : {}
  return { at: recorded_at, view: { ...stored, store_sequence }, place: { before: store_sequence } }
}

function fromRow(row: Awaited<ReturnType<typeof listRejectedRows>>[number]): Rejected {
  const { rejected_at, rejection_id } = row
  const view = { ...row, rejected_at: toWireTime(rejected_at), count: 1, verified_executor: null, store_sequence: null }
  return { at: rejected_at, view, place: { row: { rejected_at, rejection_id } } }
}

function writePlace({ before, row }: RejectedPosition): string {
  return row === undefined ? `${before}` : `${before}|${row.rejected_at}|${row.rejection_id}`
}

function readPlace(cursor: string): RejectedPosition {
  const match = /^([1-9]\d{0,15})(?:\|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|([0-9a-f-]{36}))?$/.exec(
    readPosition(cursor),
  )
  if (match === null) throw new Refusal('invalid_page')
  const [, before = '', rejected_at, rejection_id] = match
  const row = rejected_at === undefined || rejection_id === undefined ? undefined : { rejected_at, rejection_id }
  return { before: Number(before), row }
}
