import { type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { type EventRow, readEvents, readNumbers } from '../../audit/list-events.ts'
import { redactEvent } from '../../audit/redact.ts'
import { findLastNumber } from '../../audit/sequence.ts'
import { isSubjectIndexComplete } from '../../audit/index-subjects.job.ts'
import type { EventPosition } from '../../audit/subjects.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { writeCursor } from '../../requests/paging.ts'
import type { AuditListParts } from './parts.ts'
import { type AuditRequest, readAuditRequest, writePlace } from './requests.ts'

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
    next_cursor: next === undefined ? null : writeCursor(writePlace(next)),
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
