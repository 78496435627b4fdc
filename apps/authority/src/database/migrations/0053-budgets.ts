import { sql } from 'kysely'
import type { Migration } from '../database.ts'

/** Counters of budgets. They are derived from the entries of the evidence store, and can be computed again. */
export const budgets: Migration = {
  version: 53,
  servesFrom: 48,
  async up(tx, { bigint }) {
    // The last entry that the counters include. An earlier release appends without it, and they are computed again.
    await sql`alter table evidence_head add column budget_sequence bigint not null default 0`.execute(tx)
    await tx.schema
      .createTable('budgets')
      .addColumn('budget_key', 'text', (c) => c.notNull().primaryKey())
      .addColumn('source', 'text', (c) => c.notNull())
      .addColumn('requester', 'text', (c) => c.notNull())
      .addColumn('identity_json', 'text', (c) => c.notNull())
      .addColumn('counts', 'text', (c) => c.notNull())
      .addColumn('last_limit', 'text', (c) => c.notNull())
      .addColumn('open_until', 'text', (c) => c.notNull())
      .addColumn('overrun_until', 'text')
      .execute()
    await tx.schema
      .createTable('budget_sums')
      .addColumn('budget_key', 'text', (c) => c.notNull())
      .addColumn('slot', bigint, (c) => c.notNull())
      .addColumn('amount', 'text', (c) => c.notNull())
      .addColumn('reported', 'integer', (c) => c.notNull())
      .addColumn('kept_until', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('budget_sums_key', ['budget_key', 'slot'])
      .execute()
    await tx.schema
      .createTable('budget_uses')
      .addColumn('budget_key', 'text', (c) => c.notNull())
      .addColumn('store_sequence', bigint, (c) => c.notNull())
      .addColumn('decision_id', 'text', (c) => c.notNull())
      .addColumn('slot', bigint, (c) => c.notNull())
      .addColumn('asked', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('live_until', 'text')
      .addColumn('valid_until', 'text', (c) => c.notNull())
      .addColumn('settle_json', 'text')
      .addColumn('approval_id', 'text')
      .addColumn('kept_until', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('budget_uses_key', ['budget_key', 'store_sequence'])
      .execute()
    for (const [table, columns, where] of INDEXES)
      await sql`create index ${sql.id(`${table}_by_${columns.replaceAll(', ', '_')}`)} on ${sql.id(table)} (${sql.raw(columns)}) ${sql.raw(where)}`.execute(
        tx,
      )
  },
}

const INDEXES: readonly (readonly [table: string, columns: string, where: string])[] = [
  ['budgets', 'open_until', ''],
  ['budgets', 'requester, open_until', ''],
  ['budgets', 'source, budget_key', ''],
  ['budget_sums', 'kept_until', ''],
  ['budget_sums', 'reported, kept_until', 'where reported > 0'],
  ['budget_uses', 'kept_until', ''],
  ['budget_uses', 'decision_id', ''],
  ['budget_uses', 'budget_key, live_until', "where state = 'open'"],
  ['budget_uses', 'approval_id', 'where approval_id is not null'],
]
