import { sql } from 'kysely'
import type { Reader } from '../database/database.ts'
import { inOrder } from '../database/list-query.ts'
import { EVENT_ORDER, type EventPosition, NEWEST_EVENTS } from './insert.ts'

/** Events to list. All members apply. */
export interface EventFilter {
  readonly types: readonly string[]
  /** An id that the event names. */
  readonly subject: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly isNewestFirst: boolean
}

export interface EventRow extends EventPosition {
  readonly event_type: string
  readonly event_json: string
}

/**
 * The next events after a position. With a subject they come from its index range; with types, from one range for each
 * type; else from the index by time. So the cost does not depend on the number of other events.
 */
export async function readEvents(
  db: Reader,
  filter: EventFilter,
  from: EventPosition | undefined,
  limit: number,
): Promise<readonly EventRow[]> {
  const isByType = filter.subject === undefined && filter.types.length > 0
  const types = isByType ? filter.types : [undefined]
  const found: EventRow[] = []
  for (const type of types) found.push(...(await readRange(db, filter, { type, from, limit })))
  return found.toSorted(filter.isNewestFirst ? (a, b) => compare(b, a) : compare).slice(0, limit)
}

async function readRange(
  db: Reader,
  { subject, since, until, isNewestFirst }: EventFilter,
  range: {
    readonly type: string | undefined
    readonly from: EventPosition | undefined
    readonly limit: number
  },
): Promise<readonly EventRow[]> {
  const { type, from, limit } = range
  const place = subject === undefined ? 'e' : 's'
  const at = sql.ref<string>(`${place}.created_at`)
  let query = db
    .selectFrom('audit_events as e')
    .$if(subject !== undefined, (joined) => joined.innerJoin('audit_subjects as s', 's.event_id', 'e.event_id'))
    .select(['e.event_id', 'e.event_type', 'e.event_json', 'e.created_at'])
  if (subject !== undefined) query = query.where(sql.ref<string>('s.subject'), '=', subject)
  // As a constant: SQLite does not use the index of one type with parameters.
  if (type !== undefined) query = query.where(sql<boolean>`e.event_type = ${sql.lit(type)}`)
  if (since !== undefined) query = query.where(at, '>=', since)
  if (until !== undefined) query = query.where(at, '<', until)
  return inOrder(query, isNewestFirst ? NEWEST_EVENTS : EVENT_ORDER, { after: from, limit }, place).execute()
}

function compare(a: EventPosition, b: EventPosition): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1
  return a.event_id < b.event_id ? -1 : 1
}

/** Numbers of events; one that committed a moment ago may have none yet. */
export async function readNumbers(db: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('audit_numbers')
    .select(['event_id', 'sequence'])
    .where('event_id', 'in', ids)
    .execute()
  return new Map(rows.map((row) => [row.event_id, Number(row.sequence)]))
}
