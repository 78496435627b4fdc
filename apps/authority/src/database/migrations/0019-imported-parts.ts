import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Feeds of others in parts: which parts are held, whether an issuer is known completely, how many ids it has. */
export const importedParts: Migration = {
  version: 19,
  async up(tx, { bigint }) {
    await sql`alter table sovereign_revocation_feeds add column complete integer not null default 1`.execute(tx)
    await sql`alter table sovereign_revocation_feeds add column digest text`.execute(tx)
    // A full feed of before may have had no room for all.
    await sql`update sovereign_revocation_feeds set complete = 0 where revoked_count >= 50000`.execute(tx)
    await tx.schema
      .createTable('imported_feed_parts')
      .addColumn('issuer_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('part_bits', 'integer', (c) => c.notNull())
      .addColumn('part', 'integer', (c) => c.notNull())
      .addColumn('digest', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('imported_feed_parts_key', ['issuer_sovereign_id', 'part_bits', 'part'])
      .execute()
    await tx.schema
      .createTable('imported_issuers')
      .addColumn('issuer_sovereign_id', 'text', (c) => c.primaryKey())
      .addColumn('ids', bigint, (c) => c.notNull())
      .execute()
    await sql`insert into imported_issuers (issuer_sovereign_id, ids)
      select issuer_sovereign_id, count(*) from imported_sovereign_revocations group by issuer_sovereign_id`.execute(tx)
  },
}
