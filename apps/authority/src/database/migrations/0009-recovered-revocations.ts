import type { Migration } from '../migration.ts'

/** Withdrawn attestations a restored database no longer has: only the kept feed knew them. */
export const recoveredRevocations: Migration = {
  version: 9,
  async up(tx) {
    await tx.schema
      .createTable('recovered_revocations')
      .addColumn('attestation_id', 'text', (c) => c.primaryKey())
      .addColumn('revocation_reason', 'text')
      .execute()
  },
}
