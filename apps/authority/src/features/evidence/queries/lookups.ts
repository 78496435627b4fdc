import type { Database, Reader, Statement, Transaction } from '../../../database/database.ts'
import { IdStatement, doublingsOf } from '../../../database/statement.ts'

/** A stored decision and the end of the chain of its executions. */
export interface DecisionState {
  readonly id: string
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
  readonly evidence_id: string
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

/** The end of a resource's chain, for rows `t(id)`. */
const RESOURCE_END = (['resource_sequence', 'record_digest'] as const).map(
  (column) => `coalesce(
      (select x.${column} from evidence_entries x where x.resource_id = t.id and x.resource_sequence is not null order by x.resource_sequence desc limit 1),
      (select h.${column} from evidence_removed_heads h where h.resource_id = t.id)) as ${column}`,
)

const RESOURCE_HEADS = new IdStatement<ResourceState>(
  'evidence-resource-heads',
  (ids) => `select t.id, ${RESOURCE_END.join(', ')} from ${ids}`,
)

/** Where each resource's chain continues: its newest stored record, else the head in the latest checkpoint. */
export async function findResourceHeads(
  database: Database,
  tx: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ResourceState>> {
  const rows = await RESOURCE_HEADS.run(database, tx, ids)
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

/** What the submissions of a batch name. */
export interface NamedIds {
  readonly evidence: readonly string[]
  readonly decisions: readonly string[]
  readonly resources: readonly string[]
  readonly keys: readonly string[]
}

/** What the store has about a batch of submissions. */
export interface NamedState {
  /** Also removed entries that are not deleted yet: they no longer count, but still have their id. */
  readonly evidence: readonly StoredEvidence[]
  /** Decisions that are not removed. */
  readonly decisions: readonly DecisionState[]
  readonly resources: readonly ResourceState[]
  readonly keys: readonly Omit<ExecutorKeyRow, 'registered_at'>[]
}

/**
 * Reads all of it with one statement. The caller holds the lock of the chain. `size` is about how many entries the store
 * has: a plan is used until the store has doubled.
 */
export async function findNamed(tx: Transaction, ids: NamedIds, size: number): Promise<NamedState> {
  const doublings = doublingsOf(size)
  const rows = await tx.run((statements[doublings] ??= namedStatement(doublings)), ids)
  const of = (kind: NamedRow['kind']): readonly NamedRow[] => rows.filter((row) => row.kind === kind)
  return {
    evidence: of('evidence').map(({ id, sequence, line }) => ({
      evidence_id: id,
      store_sequence: Number(sequence),
      line: line ?? '',
    })),
    decisions: of('decision').map(({ id, sequence, line, digest }) => ({
      id,
      line: line ?? '',
      last_no: sequence,
      last_digest: digest,
    })),
    resources: of('resource').map(({ id, sequence, digest }) => ({
      id,
      resource_sequence: sequence,
      record_digest: digest,
    })),
    keys: of('key').map(({ id, line, owner, retired_at }) => ({
      key_id: id,
      public_key: line ?? '',
      executor_sovereign_id: owner ?? '',
      retired_at,
    })),
  }
}

/** One row of any kind: the store sequence of evidence, else the end of a chain; a line, or a public key. */
interface NamedRow {
  readonly kind: 'evidence' | 'decision' | 'resource' | 'key'
  readonly id: string
  readonly sequence: number | null
  readonly line: string | null
  readonly digest: string | null
  readonly owner: string | null
  readonly retired_at: string | null
}

const statements: Statement<NamedIds, NamedRow>[] = []

/** Each id costs one index probe, a decision two, however long its chain is. */
const KINDS: readonly { readonly ids: keyof NamedIds; readonly select: (rows: string) => string }[] = [
  {
    ids: 'evidence',
    select: (rows) => `
  select 'evidence' as kind, t.id, e.store_sequence as sequence, e.line, null as digest, null as owner, null as retired_at
  from ${rows} join evidence_entries e on e.evidence_id = t.id`,
  },
  {
    ids: 'decisions',
    select: (rows) => `
  select 'decision', t.id,
    (select x.exec_sequence_no from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
      order by x.exec_sequence_no desc limit 1), d.line,
    (select x.record_digest from evidence_entries x where x.entry_kind = 'execution' and x.decision_id = t.id
      order by x.exec_sequence_no desc limit 1), null, null
  from ${rows} join evidence_entries d on d.entry_kind = 'decision' and d.decision_id = t.id
  where d.store_sequence > (select removed_through from evidence_head where id = 1)`,
  },
  {
    ids: 'resources',
    select: (rows) => `
  select 'resource', t.id, ${RESOURCE_END[0]}, null, ${RESOURCE_END[1]}, null, null from ${rows}`,
  },
  {
    ids: 'keys',
    select: (rows) => `
  select 'key', k.key_id, null, k.public_key, null, k.executor_sovereign_id, k.retired_at
  from ${rows} join executor_keys k on k.key_id = t.id`,
  },
]

function namedStatement(doublings: number): Statement<NamedIds, NamedRow> {
  const write = (rows: (parameter: number) => string): string =>
    KINDS.map(({ select }, at) => select(rows(at + 1))).join(' union all ')
  const sqliteText = write(() => '(select value as id from json_each(?)) as t')
  return {
    name: `evidence-named-${doublings}`,
    isRead: true,
    postgres: {
      text: `${write((parameter) => `unnest($${parameter}::text[]) as t(id)`)} -- ${doublings}`,
      values: (named) => KINDS.map(({ ids }) => named[ids]),
    },
    sqlite: (prepare, named) =>
      prepare(sqliteText).all(...KINDS.map(({ ids }) => JSON.stringify(named[ids]))) as unknown as NamedRow[],
  }
}
