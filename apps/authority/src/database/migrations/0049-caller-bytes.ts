import { sql } from 'kysely'
import type { Migration } from '../database.ts'

/**
 * The bytes that each key and each partner had stored on a day, and answers to decisions without their context, which
 * the evidence store has. A release that does not know these answers calls a repeat a conflict.
 */
export const callerBytes: Migration = {
  version: 49,
  servesFrom: 48,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('stored_bytes')
      .addColumn('day', 'text', (c) => c.notNull())
      .addColumn('owner', 'text', (c) => c.notNull())
      .addColumn('bytes', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('stored_bytes_key', ['day', 'owner'])
      .execute()
    await sql`alter table idempotency_keys add column answer_rest text`.execute(tx)
    await sql`alter table idempotency_keys add column answer_sequence ${sql.raw(bigint)}`.execute(tx)
  },
}
