import { type LeaseParts, withLease } from '../database/locks/leases.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { type EventPosition, subjectsOf } from './insert.ts'
import type { Log } from '@chancery/service-kit'
import { AUDIT } from '../database/partitions/audit-partitions.ts'
import { keepPartitions } from '../database/partitions/keep-partitions.ts'
import type { PartitionSet } from '../database/partitions/table-lock.ts'

const POSITION = 'audit subjects before'
const ROWS = 500
const MAX_BATCHES = 200
const LEASE_SECONDS = 300

/** Indexes events that were stored before the table of subjects, newest first, then does nothing. */
export async function indexOldSubjects(parts: LeaseParts, signal: AbortSignal): Promise<void> {
  const { database } = parts
  const left = await database.read.selectFrom('moments').select('at').where('name', '=', POSITION).executeTakeFirst()
  if (left === undefined) return
  await withLease(parts, 'audit-subjects', LEASE_SECONDS, async () => {
    for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch += 1)
      if (!(await database.write((tx) => indexSome(tx)))) return
  })
}

/** False while events that are older than the table of subjects are left. */
export async function isSubjectIndexComplete(db: Reader): Promise<boolean> {
  return (await db.selectFrom('moments').select('at').where('name', '=', POSITION).executeTakeFirst()) === undefined
}

/** Indexes one batch. Returns true when there may be more. */
async function indexSome(tx: Transaction): Promise<boolean> {
  const { query } = tx
  const stored = await query.selectFrom('moments').select('at').where('name', '=', POSITION).executeTakeFirst()
  if (stored === undefined) return false
  const from = readPosition(stored.at)
  const events = await query
    .selectFrom('audit_events')
    .select(['event_id', 'event_type', 'event_json', 'created_at'])
    .where('created_at', '<=', from.created_at)
    .where((eb) => eb.or([eb('created_at', '<', from.created_at), eb('event_id', '<=', from.event_id)]))
    .orderBy('created_at', 'desc')
    .orderBy('event_id', 'desc')
    .limit(ROWS)
    .execute()
  const rows = events.flatMap((event) =>
    subjectsOf(event).map((subject) => ({ subject, created_at: event.created_at, event_id: event.event_id })),
  )
  if (rows.length > 0)
    await query
      .insertInto('audit_subjects')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  const last = events.at(-1)
  if (last === undefined || events.length < ROWS) {
    await query.deleteFrom('moments').where('name', '=', POSITION).execute()
    return false
  }
  const at = `${last.created_at} ${last.event_id}`
  await query.updateTable('moments').set({ at }).where('name', '=', POSITION).execute()
  return true
}

function readPosition(text: string): EventPosition {
  const at = text.indexOf(' ')
  return { created_at: text.slice(0, at), event_id: text.slice(at + 1) }
}

/**
 * Partitions the tables when they are large, while instances serve, and makes the next partitions ahead. Not before all
 * old events have their subjects: their unique index would not see the other partitions.
 */
export async function keepAuditPartitions(
  parts: LeaseParts & { readonly log: Log },
  signal: AbortSignal,
  set: PartitionSet = AUDIT,
): Promise<void> {
  if (parts.database.engine === 'postgres' && (await isSubjectIndexComplete(parts.database.read)))
    await keepPartitions(parts, set, signal)
}
