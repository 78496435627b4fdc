import { setImmediate as nextTurn } from 'node:timers/promises'
import { UNVERIFIED_EVENTS } from '@chancery/contract'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/**
 * Maximum number of events read for one response, and per page: SQLite reads in the thread that serves all requests.
 */
const EVENTS_LOOKED_AT = 500_000
const PAGE_EVENTS = 1000

export interface CountedEvents {
  readonly event_type: string
  readonly count: number
  readonly first_at: string
  readonly last_at: string
}

export interface ActivityQuery {
  readonly key_id: string
  readonly since: string
  /** Called between pages. False ends the search. */
  readonly hasTime: () => boolean
  readonly most?: number
}

export interface Seen {
  readonly events: readonly CountedEvents[]
  /** When there were too many events: the time of the oldest event that was read. */
  readonly cut: string | undefined
}

/** Counts the events of an operator key, newest first. The event loop continues after each page. */
export async function countEventsOf(
  database: Pick<Database, 'engine' | 'read'>,
  { key_id, since, hasTime, most = EVENTS_LOOKED_AT }: ActivityQuery,
): Promise<Seen> {
  const counts = new Map<string, CountedEvents>()
  const seen = (cut: string | undefined): Seen => ({
    events: [...counts.values()].sort((a, b) => (a.event_type < b.event_type ? -1 : 1)),
    cut,
  })
  let last: EventPosition | undefined
  for (let looked = PAGE_EVENTS; ; looked += PAGE_EVENTS) {
    const rows = await pageOf(database, { key_id, since, before: last })
    for (const { event_type, created_at, is_its } of rows)
      if (Boolean(is_its) && !UNVERIFIED_EVENTS.has(event_type)) {
        const { count, last_at } = counts.get(event_type) ?? { count: 0, last_at: created_at }
        counts.set(event_type, { event_type, count: count + 1, first_at: created_at, last_at })
      }
    last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_EVENTS) return seen(undefined)
    if (looked >= most || !hasTime()) return seen(last.created_at)
    await nextTurn()
  }
}

interface EventPosition {
  readonly created_at: string
  readonly event_id: string
}

/**
 * Searches the serialised member. Ids have no character that JSON escapes, and a caller's text with the same characters
 * is escaped itself.
 */
function pageOf(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  { key_id, since, before }: Pick<ActivityQuery, 'key_id' | 'since'> & { readonly before: EventPosition | undefined },
) {
  const holds = (member: string) =>
    engine === 'sqlite'
      ? sql<boolean>`instr(event_json, ${member}) > 0`
      : sql<boolean>`strpos(event_json, ${member}) > 0`
  const [asCaller, asRevoker] = [`"key_id":"${key_id}"`, `"revoked_by":"${key_id}"`].map(holds)
  let query = read
    .selectFrom('audit_events')
    .select(['event_id', 'event_type', 'created_at'])
    .select(
      sql<boolean | number>`case when event_type = 'operator_key_revoked' then ${asRevoker} else ${asCaller} end`.as(
        'is_its',
      ),
    )
    .where('created_at', '>=', since)
  if (before !== undefined)
    query = query
      .where('created_at', '<=', before.created_at)
      .where((eb) => eb.or([eb('created_at', '<', before.created_at), eb('event_id', '<', before.event_id)]))
  return query.orderBy('created_at', 'desc').orderBy('event_id', 'desc').limit(PAGE_EVENTS).execute()
}
