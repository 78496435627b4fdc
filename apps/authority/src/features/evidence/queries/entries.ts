import { sql } from 'kysely'
import { type Database, type Reader, type Transaction, assertStored } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'
import type { Tables } from '../../../database/tables.ts'
import { deleteFactsThrough } from './decision-facts.ts'
import type { ExecutorKeyRow } from './lookups.ts'

export type RejectionRow = Tables['evidence_rejections']
export type EntryRow = Tables['evidence_entries']

export async function insertRejections(tx: Transaction, rows: readonly RejectionRow[]): Promise<void> {
  if (rows.length > 0) await tx.query.insertInto('evidence_rejections').values(rows).execute()
}

/** Rows outside the chain that are older than the retention period; in batches. */
export async function deleteOldRejections(database: Database, cutoff: string): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await database.write(({ query }) => {
      const old = query
        .selectFrom('evidence_rejections')
        .select('rejection_id')
        .where('rejected_at', '<', cutoff)
        .limit(5000)
      return query.deleteFrom('evidence_rejections').where('rejection_id', 'in', old).executeTakeFirstOrThrow()
    })
    if (numDeletedRows < 5000n) return
  }
}

/** The stored line of a decision that retention has not removed. */
export async function findDecisionLine(db: Reader, decision_id: string, after: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('evidence_entries')
    .select('line')
    .where('decision_id', '=', decision_id)
    .where(sql<string>`entry_kind || ''`, '=', 'decision')
    .where('store_sequence', '>', after)
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  return row?.line
}

/** One statement decides: of two instances registering one id, exactly one gets a row. */
export async function insertExecutorKey(tx: Transaction, row: Omit<ExecutorKeyRow, 'retired_at'>): Promise<boolean> {
  const stored = await tx.query
    .insertInto('executor_keys')
    .values({ ...row, retired_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('key_id')
    .executeTakeFirst()
  return stored !== undefined
}

/** Whose key it was; undefined when it was retired before, or is not registered. */
export async function markExecutorKeyRetired(
  tx: Transaction,
  key_id: string,
  retired_at: string,
): Promise<string | undefined> {
  const row = await tx.query
    .updateTable('executor_keys')
    .set({ retired_at })
    .where('key_id', '=', key_id)
    .where('retired_at', 'is', null)
    .returning('executor_sovereign_id')
    .executeTakeFirst()
  return row?.executor_sovereign_id
}

export function listExecutorKeys(db: Reader): Promise<readonly ExecutorKeyRow[]> {
  return db.selectFrom('executor_keys').selectAll().orderBy('registered_at').orderBy('key_id').execute()
}

/** Rejections in the chain. Their number is limited (6.14), and the index of kinds has them together. */
export function countRejectedEntries(db: Reader, after: number): Promise<number> {
  return countOf(
    db.selectFrom('evidence_entries').where('entry_kind', '=', 'rejection').where('store_sequence', '>', after),
  )
}

export function countActiveExecutorKeys(db: Reader): Promise<number> {
  return countOf(db.selectFrom('executor_keys').where('retired_at', 'is', null))
}

/** Lines after a position, in store order: one range of the primary key, whatever the position. */
export async function readLines(
  db: Reader,
  range: { readonly after: number; readonly through?: number; readonly limit: number },
): Promise<readonly Pick<EntryRow, 'store_sequence' | 'line'>[]> {
  let query = db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'line'])
    .where('store_sequence', '>', range.after)
  if (range.through !== undefined) query = query.where('store_sequence', '<=', range.through)
  return query.orderBy('store_sequence').limit(range.limit).execute()
}

/** A range of entries: after one position, up to and including another. */
export interface Run {
  readonly after: number
  readonly through: number
}

/**
 * The next rows of a run, as many as fit: a line may be as long as a request, so a page of so many rows says little
 * about its memory. Lengths are known without reading a line. At least one row comes, unless the run is over.
 */
export function readSlice(
  db: Reader,
  run: Run,
  most: { readonly rows: number; readonly bytes: number },
): Promise<readonly EntryRow[]> {
  return db
    .selectFrom('evidence_entries')
    .selectAll()
    .where('store_sequence', '>', run.after)
    .where(
      'store_sequence',
      '<=',
      sql<number>`(select max(store_sequence) from (
        select store_sequence, sum(octet_length(line)) over (order by store_sequence) - octet_length(line) as before
        from evidence_entries where store_sequence > ${run.after} and store_sequence <= ${run.through}
        order by store_sequence limit ${most.rows}) sized where before < ${most.bytes})`,
    )
    .orderBy('store_sequence')
    .execute()
}

/** Bytes of all lines of a run. */
export async function measureRun(db: Reader, run: Run): Promise<number> {
  const row = await db
    .selectFrom('evidence_entries')
    .select(sql<number | string | null>`sum(octet_length(line))`.as('bytes'))
    .where('store_sequence', '>', run.after)
    .where('store_sequence', '<=', run.through)
    .executeTakeFirst()
  return Number(row?.bytes ?? 0)
}

export interface CheckpointRow {
  readonly removed_through_sequence: number
  readonly checkpoint_json: string
}

export function findLatestCheckpoint(db: Reader): Promise<CheckpointRow | undefined> {
  return db
    .selectFrom('evidence_checkpoints')
    .select(['removed_through_sequence', 'checkpoint_json'])
    .orderBy('removed_through_sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function insertCheckpoint(tx: Transaction, row: Tables['evidence_checkpoints']): Promise<void> {
  const stored = await tx.query
    .insertInto('evidence_checkpoints')
    .values(row)
    .returning('checkpoint_json')
    .executeTakeFirst()
  assertStored(row.checkpoint_json, stored?.checkpoint_json)
}

/** Checkpoints of before that are not the latest, whose heads have replaced theirs. */
export async function deleteOldCheckpoints({ query }: Transaction, before: string): Promise<void> {
  await query
    .deleteFrom('evidence_checkpoints')
    .where('created_at', '<', before)
    .where('removed_through_sequence', '<', (eb) =>
      eb
        .selectFrom('evidence_checkpoints as latest')
        .select((max) => max.fn.max('latest.removed_through_sequence').as('through')),
    )
    .execute()
}

export async function moveBoundary(tx: Transaction, removed_through: number): Promise<void> {
  await tx.query.updateTable('evidence_head').set({ removed_through }).where('id', '=', 1).execute()
}

export async function storeRemovedHeads(
  tx: Transaction,
  heads: readonly Tables['evidence_removed_heads'][],
): Promise<void> {
  for (let at = 0; at < heads.length; at += 500) {
    await tx.query
      .insertInto('evidence_removed_heads')
      .values(heads.slice(at, at + 500))
      .onConflict((conflict) =>
        conflict.column('resource_id').doUpdateSet({
          resource_sequence: sql<number>`excluded.resource_sequence`,
          record_digest: sql<string>`excluded.record_digest`,
        }),
      )
      .execute()
  }
}

/** Deletes rows before the boundary, at most `limit`. Returns their number. */
export async function deleteThrough(tx: Transaction, removedThrough: number, limit: number): Promise<number> {
  const first = await tx.query
    .selectFrom('evidence_entries')
    .select('store_sequence')
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  if (first === undefined || first.store_sequence > removedThrough) return 0
  const through = Math.min(removedThrough, first.store_sequence + limit - 1)
  await deleteFactsThrough(tx, through)
  const done = await tx.query.deleteFrom('evidence_entries').where('store_sequence', '<=', through).executeTakeFirst()
  return Number(done.numDeletedRows)
}

export interface AnchorRow {
  readonly anchor_sequence: number
  readonly store_sequence: number
  readonly anchor_json: string
}

export function findLatestAnchor(db: Reader): Promise<AnchorRow | undefined> {
  return db
    .selectFrom('evidence_anchors')
    .select(['anchor_sequence', 'store_sequence', 'anchor_json'])
    .orderBy('anchor_sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export function listAnchors(db: Reader, after: number, limit: number): Promise<readonly AnchorRow[]> {
  return db
    .selectFrom('evidence_anchors')
    .select(['anchor_sequence', 'store_sequence', 'anchor_json'])
    .where('anchor_sequence', '>', after)
    .orderBy('anchor_sequence')
    .limit(limit)
    .execute()
}

export async function insertAnchor(tx: Transaction, row: Tables['evidence_anchors']): Promise<void> {
  const stored = await tx.query.insertInto('evidence_anchors').values(row).returning('anchor_json').executeTakeFirst()
  assertStored(row.anchor_json, stored?.anchor_json)
}
