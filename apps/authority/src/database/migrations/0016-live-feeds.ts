import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * The feed in parts. Texts of older versions give way to their digests, and ids that were pruned stay known. Nothing is
 * filled here: the first version that is signed afterwards takes every withdrawn attestation along.
 */
export const liveFeeds: Migration = {
  version: 16,
  async up(tx, { bigint }) {
    for (const column of [
      'index_json text',
      'total_ids bigint',
      'cause text',
      'feed_id text',
      'digest text',
      'ids bigint',
    ])
      await sql`alter table own_revocation_feeds add column ${sql.raw(column)}`.execute(tx)
    await tx.schema
      .createTable('removed_own_feeds')
      .addColumn('sequence', bigint, (c) => c.primaryKey())
      .addColumn('feed_id', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .addColumn('digest', 'text', (c) => c.notNull())
      .addColumn('ids', bigint, (c) => c.notNull())
      .addColumn('cause', 'text')
      .execute()
    await tx.schema
      .createTable('own_feed_ids')
      .addColumn('attestation_id', 'text', (c) => c.primaryKey())
      .addColumn('part_key', 'integer', (c) => c.notNull())
      .addColumn('revoked_at', 'text', (c) => c.notNull())
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('ends_at', 'text', (c) => c.notNull())
      .addColumn('end_known', 'integer', (c) => c.notNull())
      .addColumn('pruned', 'integer', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('own_feed_ids_by_part').on('own_feed_ids').columns(['pruned', 'part_key']).execute()
    await tx.schema
      .createIndex('own_feed_ids_by_time')
      .on('own_feed_ids')
      .columns(['pruned', 'revoked_at', 'attestation_id'])
      .execute()
    await tx.schema
      .createIndex('own_feed_ids_by_end')
      .on('own_feed_ids')
      .columns(['pruned', 'end_known', 'ends_at'])
      .execute()
    await tx.schema
      .createTable('own_feed_parts')
      .addColumn('part', 'integer', (c) => c.primaryKey())
      .addColumn('count', 'integer', (c) => c.notNull())
      .addColumn('digest', 'text', (c) => c.notNull())
      .addColumn('part_json', 'text', (c) => c.notNull())
      .execute()
    await sql`create index attestations_by_withdrawal on membership_attestations (revoked_at, attestation_id) where status = 'revoked'`.execute(
      tx,
    )
  },
}
