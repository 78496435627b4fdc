import { type JsonObject, isJsonObject, readInstant, readJson, writeSortable } from '@chancery/protocol'
import { type EventRow, readEvents, readNumbers } from '../../audit/list-events.ts'
import { redactEvent } from '../../audit/export.ts'
import { findLastNumber } from '../../audit/sequence.ts'
import { isSubjectIndexComplete } from '../../audit/index-subjects.job.ts'
import { EVENT_ORDER, type EventPosition, isSubject } from '../../audit/insert.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPlace, writePlace } from '../../requests/list-position.ts'
import { readPosition, readWhole, writeCursor } from '../../requests/paging.ts'
import type { Core } from '../../core.ts'
import { AUDIT_EVENTS, Refusal } from '@chancery/contract'
import type { Query } from '@chancery/service-kit'

export type AuditListParts = Pick<Core, 'database' | 'reads'>

/** Types that one request may name: each is one index range. */
const MAX_TYPES = 10
const MAX_ROWS = 100

interface AuditRequest {
  readonly types: readonly string[]
  readonly key_id: string | undefined
  readonly subject: string | undefined
  readonly request_id: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly isNewestFirst: boolean
  readonly from: EventPosition | undefined
  readonly limit: number
}

function readAuditRequest(query: Query): AuditRequest {
  const order = query.first('order') ?? 'newest'
  if (order !== 'newest' && order !== 'oldest') throw new Refusal('invalid_input', { field: 'order' })
  const cursor = query.first('cursor')
  return {
    types: readTypes(query.first('event')),
    key_id: readId(query, 'key_id'),
    subject: readId(query, 'subject'),
    request_id: readId(query, 'request_id'),
    since: readTime(query.first('since')),
    until: readTime(query.first('until')),
    isNewestFirst: order === 'newest',
    from: cursor === undefined ? undefined : readPlace(EVENT_ORDER, readPosition(cursor)),
    limit: readWhole(query.first('limit') ?? '50', 1, MAX_ROWS),
  }
}

/** A mistyped event would look like one that never happened. */
function readTypes(text: string | undefined): readonly string[] {
  if (text === undefined) return []
  const types = text.split(',', MAX_TYPES + 1)
  if (types.length > MAX_TYPES || !types.every((type) => Object.hasOwn(AUDIT_EVENTS, type)))
    throw new Refusal('invalid_input', { field: 'event' })
  return [...new Set(types)]
}

function readId(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value !== undefined && !isSubject(value)) throw new Refusal('invalid_input', { field: name })
  return value
}

function readTime(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const instant = readInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (instant === undefined) throw new Refusal('invalid_timestamps')
  return writeSortable(instant)
}

/** Events that one request looks at: request ids have no index. A page may be short and have a next one. */
const MAX_READ = 10_000
const BATCH = 500

/**
 * GET /admin/audit
 * Returns redacted events with their numbers, newest first or oldest first.
 */
export async function list(call: OperatorCall, parts: Pick<AuditListParts, 'database'>): Promise<JsonObject> {
  const request = readAuditRequest(call.query)
  const db = parts.database.read
  const { events, next } = await collect(parts, request)
  const numbers = await readNumbers(
    db,
    events.map(({ row }) => row.event_id),
  )
  const isBySubject = request.subject !== undefined || request.key_id !== undefined
  return {
    count: events.length,
    last_number: await findLastNumber(db),
    // Events of an earlier release are indexed by a job.
    complete: !isBySubject || (await isSubjectIndexComplete(db)),
    events: events.map(({ row, event }) => ({ number: numbers.get(row.event_id) ?? null, ...redactEvent(event) })),
    next_cursor: next === undefined ? null : writeCursor(writePlace(EVENT_ORDER, next)),
  }
}

interface Found {
  readonly row: EventRow
  readonly event: JsonObject
}

/** Reads batches until the page is full, the events end, or enough of them were looked at. */
async function collect(
  { database }: Pick<AuditListParts, 'database'>,
  request: AuditRequest,
): Promise<{ readonly events: readonly Found[]; readonly next: EventPosition | undefined }> {
  // The operator is one of the ids that an event names.
  const filter = { ...request, subject: request.subject ?? request.key_id }
  const events: Found[] = []
  let from = request.from
  for (let read = 0; read < MAX_READ;) {
    const rows = await readEvents(database.read, filter, from, BATCH)
    for (const row of rows) {
      const event = matching(row, request)
      if (event !== undefined) {
        if (events.length === request.limit) return { events, next: events.at(-1)?.row }
        events.push({ row, event })
      }
      from = { created_at: row.created_at, event_id: row.event_id }
    }
    if (rows.length < BATCH) return { events, next: undefined }
    read += rows.length
  }
  return { events, next: from }
}

/** The parsed event, when the filters without an index fit as well. */
function matching(
  { event_type, event_json }: EventRow,
  { types, key_id, request_id }: AuditRequest,
): JsonObject | undefined {
  if (types.length > 0 && !types.includes(event_type)) return undefined
  if (request_id !== undefined && !event_json.includes(request_id)) return undefined
  const event = readJson(event_json)
  if (!isJsonObject(event)) return undefined
  const details = event['details']
  const says = (name: string, value: string | undefined): boolean =>
    value === undefined || (details !== undefined && isJsonObject(details) && details[name] === value)
  return says('key_id', key_id) && says('request_id', request_id) ? event : undefined
}
