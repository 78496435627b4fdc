import { sql } from 'kysely'
import type { Store, Tx } from '../../store/database.ts'
import { idRows } from '../../store/evidence-chain.ts'

/** A stored decision and the end of the chain of its executions. */
export interface DecisionState {
  readonly id: string
  readonly store_sequence: number
  readonly line: string
  readonly last_no: number | null
  readonly last_digest: string | null
}

export interface ResourceState {
  readonly id: string
  readonly resource_sequence: number | null
  readonly record_digest: string | null
}

export interface HeldEvidence {
  readonly evidence_id: string | null
  readonly store_sequence: number
  readonly line: string
}

export interface ExecutorKeyRow {
  readonly key_id: string
  readonly public_key: string
  readonly executor_sovereign_id: string
  readonly registered_at: string
  readonly retired_at: string | null
}

/** Decisions that are not behind the boundary; each costs three index probes, however long its chain is. */
export async function findDecisions(
  store: Store,
  tx: Tx,
  ids: readonly string[],
  removedThrough: number,
): Promise<readonly DecisionState[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<DecisionState>`
    select t.id, d.store_sequence, d.line,
      (select x.exec_sequence_no from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
        order by x.exec_sequence_no desc limit 1) as last_no,
      (select x.record_digest from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
        order by x.exec_sequence_no desc limit 1) as last_digest
    from ${idRows(store, ids)}
    join evidence_entries d on d.entry_kind = 'decision' and d.decision_id = t.id
    where d.store_sequence > ${removedThrough}`.execute(tx)
  return rows
}

/** Where each resource's chain goes on: its newest stored record, else what the latest checkpoint says of it. */
export async function findResourceHeads(
  store: Store,
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ResourceState>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<ResourceState>`
    select t.id,
      coalesce(
        (select x.resource_sequence from evidence_entries x where x.resource_id = t.id order by x.resource_sequence desc limit 1),
        (select h.resource_sequence from evidence_removed_heads h where h.resource_id = t.id)) as resource_sequence,
      coalesce(
        (select x.record_digest from evidence_entries x where x.resource_id = t.id order by x.resource_sequence desc limit 1),
        (select h.record_digest from evidence_removed_heads h where h.resource_id = t.id)) as record_digest
    from ${idRows(store, ids)}`.execute(tx)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Also those behind the boundary that are not deleted yet: they no longer count, but still hold their id. */
export function findEvidence(tx: Tx, ids: readonly string[]): Promise<readonly HeldEvidence[]> {
  if (ids.length === 0) return Promise.resolve([])
  return tx
    .selectFrom('evidence_entries')
    .select(['evidence_id', 'store_sequence', 'line'])
    .where('evidence_id', 'in', ids)
    .execute()
}

export function findExecutorKeys(tx: Tx, ids: readonly string[]): Promise<readonly ExecutorKeyRow[]> {
  if (ids.length === 0) return Promise.resolve([])
  return tx.selectFrom('executor_keys').selectAll().where('key_id', 'in', ids).execute()
}
