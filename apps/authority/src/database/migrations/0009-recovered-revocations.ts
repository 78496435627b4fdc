import type { Migration } from '../migration.ts'

/** Revoked attestations that a restored database lacks and only the saved feed names. */
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
