import type { Database, Reader } from '../../../database/database.ts'
import type { EvidenceHeadRow } from './chain.ts'
import { IdStatement } from '../../../database/statement.ts'

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

export interface StoredEvidence {
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

const DECISIONS = new IdStatement<DecisionState>(
  'evidence-decisions',
  (ids, removedThrough) => `
  select t.id, d.store_sequence, d.line,
    (select x.exec_sequence_no from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
      order by x.exec_sequence_no desc limit 1) as last_no,
    (select x.record_digest from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
      order by x.exec_sequence_no desc limit 1) as last_digest
  from ${ids} join evidence_entries d on d.entry_kind = 'decision' and d.decision_id = t.id
  where d.store_sequence > ${removedThrough}`,
)

/** Decisions that are not removed; each costs three index probes, however long its chain is. */
export function findDecisions(
  database: Database,
  tx: Reader,
  ids: readonly string[],
  head: EvidenceHeadRow,
): Promise<readonly DecisionState[]> {
  return DECISIONS.run(database, tx, ids, head.last_sequence, head.removed_through)
}

const RESOURCE_HEADS = new IdStatement<ResourceState>(
  'evidence-resource-heads',
  (ids) => `
  select t.id,
    coalesce(
      (select x.resource_sequence from evidence_entries x where x.resource_id = t.id and x.resource_sequence is not null order by x.resource_sequence desc limit 1),
      (select h.resource_sequence from evidence_removed_heads h where h.resource_id = t.id)) as resource_sequence,
    coalesce(
      (select x.record_digest from evidence_entries x where x.resource_id = t.id and x.resource_sequence is not null order by x.resource_sequence desc limit 1),
      (select h.record_digest from evidence_removed_heads h where h.resource_id = t.id)) as record_digest
  from ${ids}`,
)

/** Where each resource's chain continues: its newest stored record, else the head in the latest checkpoint. */
export async function findResourceHeads(
  database: Database,
  tx: Reader,
  ids: readonly string[],
  head?: EvidenceHeadRow,
): Promise<ReadonlyMap<string, ResourceState>> {
  const rows = await RESOURCE_HEADS.run(database, tx, ids, head?.last_sequence)
  return new Map(rows.map((row) => [row.id, row]))
}

/** The head that a checkpoint has of a resource. */
export function findRemovedHead(
  db: Reader,
  resource_id: string,
): Promise<{ readonly resource_sequence: number; readonly record_digest: string } | undefined> {
  return db
    .selectFrom('evidence_removed_heads')
    .select(['resource_sequence', 'record_digest'])
    .where('resource_id', '=', resource_id)
    .executeTakeFirst()
}

const EVIDENCE = new IdStatement<StoredEvidence>(
  'evidence-by-id',
  (ids) => `select e.evidence_id, e.store_sequence, e.line from ${ids} join evidence_entries e on e.evidence_id = t.id`,
)

/** Also removed entries that are not deleted yet: they no longer count, but still have their id. */
export function findEvidence(
  database: Database,
  tx: Reader,
  ids: readonly string[],
  head: EvidenceHeadRow,
): Promise<readonly StoredEvidence[]> {
  return EVIDENCE.run(database, tx, ids, head.last_sequence)
}

const EXECUTOR_KEYS = new IdStatement<ExecutorKeyRow>(
  'executor-keys',
  (ids) => `select k.* from ${ids} join executor_keys k on k.key_id = t.id`,
)

export function findExecutorKeys(
  database: Database,
  tx: Reader,
  ids: readonly string[],
): Promise<readonly ExecutorKeyRow[]> {
  return EXECUTOR_KEYS.run(database, tx, ids)
}
