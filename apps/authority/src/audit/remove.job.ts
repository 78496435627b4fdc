import { DAY, type Instant, writeInstant, writeSortable } from '@chancery/protocol'
import { dropOldPartitions } from './drop-partitions.ts'
import { type Audit, STAYING } from './record.ts'
import { leastPosition } from './sequence.ts'
import { subjectsOf } from './insert.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { type LeaseParts, withLease } from '../database/locks/leases.ts'

const ROWS = 500
const MAX_BATCHES = 200
const LEASE_SECONDS = 300

interface RemovalParts extends LeaseParts {
  readonly audit: Audit
  readonly purgeClock: { readonly daily: { now(): Instant } }
  readonly settings: { readonly auditKeptDays: number }
}

/**
 * Removes audit events that are older than NA_AUDIT_KEPT_DAYS and that every forwarder and every named export has
 * stored elsewhere. Without either nothing is removed. The event at the position of a reader stays, so each continues
 * from there, and sequences are never used twice. Each batch records an event with the removed sequences. On PostgreSQL
 * whole partitions are dropped first.
 */
export async function removeForwardedEvents(parts: RemovalParts, signal: AbortSignal): Promise<void> {
  const { auditKeptDays } = parts.settings
  if (auditKeptDays === 0) return
  const cutoff = parts.purgeClock.daily.now() - BigInt(auditKeptDays) * DAY
  await withLease(parts, 'audit-removal', LEASE_SECONDS, async (lease) => {
    if (!(await dropOldPartitions(parts, lease, cutoff, signal))) return
    let last: number | undefined = 0
    for (let batch = 0; batch < MAX_BATCHES && last !== undefined && !signal.aborted; batch += 1)
      last = await removeSome(parts, cutoff, last)
  })
}

/** Removes one batch. Returns the sequence to continue from, or undefined at the end. */
async function removeSome(parts: RemovalParts, cutoff: Instant, after: number): Promise<number | undefined> {
  return parts.database.write(async (tx) => {
    const page = await listStoredElsewhere(tx.query, after)
    const old = page.filter(({ created_at }) => created_at < writeSortable(cutoff))
    // Sequences follow time closely: after a page of younger events there is nothing to find.
    if (old.length === 0) return undefined
    const removed = old.filter(({ event_type }) => !STAYING.includes(event_type))
    await removeEvents(tx, removed)
    const [first, final] = [removed[0], removed.at(-1)]
    if (first !== undefined && final !== undefined)
      await parts.audit.record(tx, {
        type: 'audit_events_removed',
        details: {
          count: removed.length,
          first_sequence: first.sequence,
          last_sequence: final.sequence,
          created_before: writeInstant(cutoff),
          job: 'retention',
        },
      })
    return page.length < ROWS ? undefined : page.at(-1)?.sequence
  })
}

interface NumberedRow {
  readonly sequence: number
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
}

/** Numbered events before the position of the slowest reader, in order. */
async function listStoredElsewhere(tx: Reader, after: number): Promise<readonly NumberedRow[]> {
  const least = await leastPosition(tx)
  return tx
    .selectFrom('audit_numbers as n')
    .innerJoin('audit_events as e', 'e.event_id', 'n.event_id')
    .select(['n.sequence', 'n.event_id', 'e.event_type', 'e.event_json', 'e.created_at'])
    .where('n.sequence', '>', after)
    .where('n.sequence', '<', least)
    .orderBy('n.sequence')
    .limit(ROWS)
    .execute()
}

async function removeEvents(tx: Transaction, rows: readonly NumberedRow[]): Promise<void> {
  if (rows.length === 0) return
  const [ids, numbers] = [rows.map(({ event_id }) => event_id), rows.map(({ sequence }) => sequence)]
  await removeSubjects(tx, rows)
  await tx.query.deleteFrom('audit_numbers').where('sequence', 'in', numbers).execute()
  await tx.query.deleteFrom('audit_events').where('event_id', 'in', ids).execute()
}

/** The subjects of an event follow from its text, so no index by event is needed. */
async function removeSubjects(tx: Transaction, rows: readonly NumberedRow[]): Promise<void> {
  const subjects = [...new Set(rows.flatMap(subjectsOf))]
  const times = rows.map(({ created_at }) => created_at).sort()
  const [first, last] = [times[0], times.at(-1)]
  if (subjects.length === 0 || first === undefined || last === undefined) return
  await tx.query
    .deleteFrom('audit_subjects')
    .where('subject', 'in', subjects)
    .where('created_at', '>=', first)
    .where('created_at', '<=', last)
    .where(
      'event_id',
      'in',
      rows.map(({ event_id }) => event_id),
    )
    .execute()
}
