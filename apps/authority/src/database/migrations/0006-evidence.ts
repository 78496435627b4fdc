import { sql } from 'kysely'
import type { Migration } from '../migration.ts'
import type { Query } from '../database.ts'

/** The evidence store: entries, their head, rejections, executor keys, checkpoints, anchors and the public log. */
export const evidence: Migration = {
  version: 6,
  async up(tx, { backend, binary, bigint }) {
    await tx.insertInto('heads').values({ name: 'evidence-anchors', version: 0 }).execute()
    // One row, both the lock an append takes first and the place the chain goes on from.
    await tx.schema
      .createTable('evidence_head')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('last_sequence', bigint, (c) => c.notNull())
      .addColumn('last_digest', 'text')
      .addColumn('last_recorded_at', 'text')
      .addColumn('removed_through', bigint, (c) => c.notNull())
      .addColumn('rejections', bigint, (c) => c.notNull())
      .execute()
    await tx
      .insertInto('evidence_head')
      .values({ id: 1, last_sequence: 0, last_digest: null, last_recorded_at: null, removed_through: 0, rejections: 0 })
      .execute()

    // `line` is the exported line, byte for byte; every other column only finds it.
    await tx.schema
      .createTable('evidence_entries')
      .addColumn('store_sequence', bigint, (c) => c.primaryKey())
      .addColumn('entry_kind', 'text', (c) => c.notNull())
      .addColumn('recorded_at', 'text', (c) => c.notNull())
      .addColumn('entry_digest', 'text', (c) => c.notNull())
      .addColumn('decision_id', 'text')
      .addColumn('vendor_id', 'text')
      .addColumn('attestation_id', 'text')
      .addColumn('capability', 'text')
      .addColumn('outcome', 'text')
      .addColumn('evidence_id', 'text')
      .addColumn('exec_sequence_no', bigint)
      .addColumn('resource_id', 'text')
      .addColumn('resource_sequence', bigint)
      .addColumn('record_digest', 'text')
      .addColumn('line', 'text', (c) => c.notNull())
      .execute()
    await createEntryIndexes(tx)
    await guardEntries(tx, backend)

    await tx.schema
      .createTable('evidence_rejections')
      .addColumn('rejection_id', 'text', (c) => c.primaryKey())
      .addColumn('rejected_at', 'text', (c) => c.notNull())
      .addColumn('code', 'text', (c) => c.notNull())
      .addColumn('submitted_digest', 'text', (c) => c.notNull())
      .addColumn('evidence_id', 'text')
      .addColumn('decision_id', 'text')
      .addColumn('resource_id', 'text')
      .addColumn('executor_sovereign_id', 'text')
      .execute()

    await tx.schema
      .createTable('executor_keys')
      .addColumn('key_id', 'text', (c) => c.primaryKey())
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('executor_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('registered_at', 'text', (c) => c.notNull())
      .addColumn('retired_at', 'text')
      .execute()

    await tx.schema
      .createTable('evidence_checkpoints')
      .addColumn('removed_through_sequence', bigint, (c) => c.primaryKey())
      .addColumn('checkpoint_id', 'text', (c) => c.notNull().unique())
      .addColumn('checkpoint_json', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    // Heads of resources whose records were removed, out of the latest checkpoint: an append asks for one of them.
    await tx.schema
      .createTable('evidence_removed_heads')
      .addColumn('resource_id', 'text', (c) => c.primaryKey())
      .addColumn('resource_sequence', bigint, (c) => c.notNull())
      .addColumn('record_digest', 'text', (c) => c.notNull())
      .execute()

    await tx.schema
      .createTable('evidence_anchors')
      .addColumn('anchor_sequence', bigint, (c) => c.primaryKey())
      .addColumn('store_sequence', bigint, (c) => c.notNull().unique())
      .addColumn('anchor_json', 'text', (c) => c.notNull())
      .addColumn('anchored_at', 'text', (c) => c.notNull())
      .execute()

    // Hash tiles of the public log stay when entries go; a tile grows to 256 hashes and is then never written again.
    await tx.schema
      .createTable('evidence_log_tiles')
      .addColumn('level', 'integer', (c) => c.notNull())
      .addColumn('tile', bigint, (c) => c.notNull())
      .addColumn('hashes', binary, (c) => c.notNull())
      .addPrimaryKeyConstraint('evidence_log_tiles_key', ['level', 'tile'])
      .execute()
    await tx.schema
      .createTable('evidence_log_checkpoints')
      .addColumn('tree_size', bigint, (c) => c.primaryKey())
      .addColumn('note', 'text', (c) => c.notNull())
      .addColumn('signed_at', 'text', (c) => c.notNull())
      .execute()
  },
}

/** Uniqueness first (protocol/trust-operations 6.3), then one index per search filter, each in store order. */
async function createEntryIndexes(tx: Query): Promise<void> {
  await sql`create unique index evidence_one_decision on evidence_entries (decision_id) where entry_kind = 'decision'`.execute(
    tx,
  )
  await sql`create unique index evidence_one_evidence_id on evidence_entries (evidence_id) where evidence_id is not null`.execute(
    tx,
  )
  await sql`create unique index evidence_one_position on evidence_entries (decision_id, exec_sequence_no) where entry_kind = 'execution'`.execute(
    tx,
  )
  await sql`create unique index evidence_one_resource_position on evidence_entries (resource_id, resource_sequence) where resource_id is not null`.execute(
    tx,
  )
  for (const column of ['decision_id', 'vendor_id', 'attestation_id', 'capability', 'outcome', 'resource_id']) {
    await sql`create index ${sql.raw(`evidence_by_${column}`)} on evidence_entries (${sql.ref(column)}, store_sequence) where ${sql.ref(column)} is not null`.execute(
      tx,
    )
  }
  await sql`create index evidence_by_kind on evidence_entries (entry_kind, store_sequence)`.execute(tx)
  await sql`create index evidence_by_time on evidence_entries (recorded_at, store_sequence)`.execute(tx)
}

/**
 * The database itself refuses to change an entry, and to delete one that no checkpoint covers, so a wrong statement
 * fails. The owner of the database can remove the trigger. Then the chain, the anchors and the log show the change.
 */
async function guardEntries(tx: Query, backend: 'sqlite' | 'postgres'): Promise<void> {
  if (backend === 'sqlite') {
    await sql`create trigger evidence_entries_fixed before update on evidence_entries begin select raise(abort, 'evidence entries are never changed'); end`.execute(
      tx,
    )
    await sql`create trigger evidence_entries_kept before delete on evidence_entries when old.store_sequence > (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) begin select raise(abort, 'evidence entries are removed by retention only'); end`.execute(
      tx,
    )
    return
  }
  await sql`create function evidence_entries_guard() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' and old.store_sequence <= (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) then
        return old;
      end if;
      raise exception 'evidence entries are never changed, and removed by retention only';
    end $$`.execute(tx)
  await sql`create trigger evidence_entries_fixed before update or delete on evidence_entries for each row execute function evidence_entries_guard()`.execute(
    tx,
  )
  await sql`create trigger evidence_entries_whole before truncate on evidence_entries for each statement execute function evidence_entries_guard()`.execute(
    tx,
  )
}
