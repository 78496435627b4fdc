import type { Migration } from '../migration.ts'

/** Texts that boundary policies name by their digest: policy sets and schemas of Cedar. */
export const policyTexts: Migration = {
  version: 38,
  servesFrom: 25,
  async up(tx) {
    await tx.schema
      .createTable('boundary_policy_texts')
      .addColumn('text_digest', 'text', (c) => c.notNull().primaryKey())
      .addColumn('text', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
  },
}
