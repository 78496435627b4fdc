import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Attestations, treaties, recognition policies, the own revocation feed and what was imported from others. */
export const sovereignTrust: Migration = {
  version: 3,
  async up(tx, { bigint }) {
    const names = ['recognition-policy', 'treaties', 'feed', 'imports']
    await tx
      .insertInto('heads')
      .values(names.map((name) => ({ name, version: 0 })))
      .execute()

    await tx.schema
      .createTable('membership_attestations')
      .addColumn('attestation_id', 'text', (c) => c.primaryKey())
      .addColumn('issuer_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('subject_id', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('attestation_json', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .addColumn('revoked_at', 'text')
      .addColumn('revocation_reason', 'text')
      .execute()
    await tx.schema
      .createIndex('attestations_in_order')
      .on('membership_attestations')
      .columns(['issued_at', 'attestation_id'])
      .execute()
    await tx.schema
      .createIndex('attestations_by_subject')
      .on('membership_attestations')
      .columns(['subject_id', 'issued_at'])
      .execute()
    await tx.schema
      .createIndex('attestations_by_status')
      .on('membership_attestations')
      .columns(['status', 'issued_at'])
      .execute()

    await tx.schema
      .createTable('recognition_policies')
      .addColumn('position', bigint, (c) => c.primaryKey())
      .addColumn('policy_id', 'text', (c) => c.notNull())
      .addColumn('policy_json', 'text', (c) => c.notNull())
      .addColumn('active', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await sql`create unique index recognition_policies_one_active on recognition_policies (active) where active = 1`.execute(
      tx,
    )

    await tx.schema
      .createTable('recognition_treaties')
      .addColumn('treaty_id', 'text', (c) => c.primaryKey())
      .addColumn('issuer_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('subject_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('treaty_json', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .addColumn('valid_from', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('revoked_at', 'text')
      .addColumn('revocation_reason', 'text')
      .execute()
    await tx.schema
      .createIndex('treaties_in_order')
      .on('recognition_treaties')
      .columns(['issued_at', 'treaty_id'])
      .execute()
    await tx.schema
      .createIndex('treaties_by_subject')
      .on('recognition_treaties')
      .columns(['subject_sovereign_id', 'issued_at'])
      .execute()

    await tx.schema
      .createTable('own_revocation_feeds')
      .addColumn('sequence', bigint, (c) => c.primaryKey())
      .addColumn('feed_json', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .execute()

    await tx.schema
      .createTable('sovereign_revocation_feeds')
      .addColumn('issuer_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addColumn('feed_id', 'text', (c) => c.notNull())
      .addColumn('feed_json', 'text', (c) => c.notNull())
      .addColumn('revoked_count', 'integer', (c) => c.notNull())
      .addColumn('imported_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('sovereign_revocation_feeds_key', ['issuer_sovereign_id', 'sequence'])
      .execute()

    await tx.schema
      .createTable('imported_sovereign_revocations')
      .addColumn('issuer_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('attestation_id', 'text', (c) => c.notNull())
      .addColumn('feed_id', 'text', (c) => c.notNull())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addColumn('reason', 'text')
      .addColumn('imported_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('imported_sovereign_revocations_key', ['issuer_sovereign_id', 'attestation_id'])
      .execute()
  },
}
