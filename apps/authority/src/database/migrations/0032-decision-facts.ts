import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Filters and hourly counts of decisions. Entries are never changed, so the facts have their own table. A job fills in
 * the decisions of earlier releases, in batches: a migration that reads every line would stop a large store for minutes.
 */
export const decisionFacts: Migration = {
  version: 32,
  servesFrom: 25,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('decision_facts')
      .addColumn('store_sequence', bigint, (c) => c.primaryKey())
      .addColumn('requester_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('failed_gate', 'text')
      .execute()
    await sql`create index decision_facts_by_requester on decision_facts (requester_sovereign_id, store_sequence)`.execute(
      tx,
    )
    await sql`create index decision_facts_by_failed_gate on decision_facts (failed_gate, store_sequence)
      where failed_gate is not null`.execute(tx)
    await tx.schema
      .createTable('decision_hours')
      .addColumn('hour', 'text', (c) => c.notNull())
      .addColumn('split', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('outcome', 'text', (c) => c.notNull())
      .addColumn('decisions', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('decision_hours_key', ['split', 'hour', 'name', 'outcome'])
      .execute()
    await tx.schema
      .createTable('decision_facts_head')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('described_through', bigint, (c) => c.notNull())
      .addColumn('present_through', bigint, (c) => c.notNull())
      .execute()
    await sql`insert into decision_facts_head (id, described_through, present_through)
      select 1, removed_through, last_sequence from evidence_head where id = 1`.execute(tx)
  },
}
