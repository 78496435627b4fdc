import type { Migration } from '../migration.ts'

/** Rules by which platform identities join, the evidence that was used, and the certificates it was used for. */
export const admission: Migration = {
  version: 40,
  servesFrom: 25,
  async up(tx) {
    await tx.schema
      .createTable('admission_rules')
      .addColumn('rule_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('rule_json', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('joins', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('removed_at', 'text')
      .addColumn('removed_by', 'text')
      .addColumn('removal_reason', 'text')
      .execute()
    await tx.schema
      .createTable('used_evidence')
      .addColumn('evidence_key', 'text', (c) => c.notNull().primaryKey())
      .addColumn('node_public_key', 'text', (c) => c.notNull())
      .addColumn('uses', 'integer', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('used_evidence_by_end').on('used_evidence').column('expires_at').execute()
    await tx.schema
      .createTable('admitted_certs')
      .addColumn('cert_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('rule_id', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema
      .createIndex('admitted_certs_by_rule')
      .on('admitted_certs')
      .columns(['rule_id', 'expires_at'])
      .execute()
    await tx.schema.createIndex('admitted_certs_by_end').on('admitted_certs').column('expires_at').execute()
  },
}
