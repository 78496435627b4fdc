import { Refusal } from '@chancery/contract'
import { type JsonObject, isJsonObject, readStoredLine } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { readPosition, readWhole, writeCursor } from '../../requests/paging.ts'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { type RejectedPosition, listRejectedEntries, listRejectedRows } from './queries/rejected.ts'

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
