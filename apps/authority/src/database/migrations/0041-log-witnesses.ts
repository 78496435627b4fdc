import type { Migration } from '../migration.ts'

/** The identity of the evidence log, its cosigned checkpoint, and what each witness said last. */
export const logWitnesses: Migration = {
  version: 41,
  servesFrom: 25,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('evidence_log_identity')
      .addColumn('id', 'integer', (c) => c.notNull().primaryKey())
      .addColumn('record_json', 'text', (c) => c.notNull())
      .execute()
    await tx.schema
      .createTable('evidence_log_cosigned')
      .addColumn('id', 'integer', (c) => c.notNull().primaryKey())
      .addColumn('tree_size', bigint, (c) => c.notNull())
      .addColumn('note', 'text')
      .addColumn('cosigners', 'integer', (c) => c.notNull())
      .addColumn('cosigned_at', 'text')
      .addColumn('pending_since', 'text')
      .execute()
    await tx.schema
      .createTable('evidence_log_witnesses')
      .addColumn('name', 'text', (c) => c.notNull().primaryKey())
      .addColumn('verifier_key', 'text', (c) => c.notNull())
      .addColumn('known_size', bigint, (c) => c.notNull())
      .addColumn('cosigned_at', 'text')
      .addColumn('tried_at', 'text', (c) => c.notNull())
      .addColumn('failure', 'text')
      .addColumn('alarm', 'text')
      .addColumn('alarm_at', 'text')
      .addColumn('alarm_size', bigint)
      .addColumn('proof_note', 'text')
      .execute()
  },
}
