import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Partners, what was read from them, and the highest sequences that were seen of each. */
export const partners: Migration = {
  version: 27,
  servesFrom: 25,
  async up(tx, { backend, bigint }) {
    const orderedText = backend === 'postgres' ? sql`text collate "C"` : sql`text`
    await tx.insertInto('heads').values({ name: 'partners', version: 0 }).execute()
    await tx.schema
      .createTable('partners')
      .addColumn('sovereign_id', orderedText, (c) => c.primaryKey())
      .addColumn('url', 'text', (c) => c.notNull())
      .addColumn('pin_json', 'text', (c) => c.notNull())
      .addColumn('import_feeds', 'integer', (c) => c.notNull())
      .addColumn('interval_seconds', 'integer', (c) => c.notNull())
      .addColumn('max_feed_age_seconds', 'integer')
      .addColumn('allow_http', 'integer', (c) => c.notNull())
      .addColumn('paused', 'integer', (c) => c.notNull())
      .addColumn('label', 'text')
      .addColumn('added_at', 'text', (c) => c.notNull())
      .addColumn('added_by', 'text', (c) => c.notNull())
      .addColumn('open_alarms', 'integer', (c) => c.notNull())
      .addColumn('last_pull_at', 'text')
      .addColumn('last_outcome', 'text')
      .addColumn('last_duration_ms', bigint)
      .addColumn('last_good_pull_at', 'text')
      .addColumn('next_pull_at', 'text', (c) => c.notNull())
      .addColumn('failures', 'integer', (c) => c.notNull())
      .addColumn('pull_token', 'text')
      .addColumn('pull_until', 'text')
      .addColumn('asked_at', 'text')
      .addColumn('treaties_as_of', 'text')
      .addColumn('stored_json', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('partners_by_next_pull').on('partners').columns(['paused', 'next_pull_at']).execute()
    await tx.schema
      .createTable('partner_texts')
      .addColumn('sovereign_id', orderedText, (c) => c.notNull())
      .addColumn('material', 'text', (c) => c.notNull())
      .addColumn('text', 'text', (c) => c.notNull())
      .addColumn('stored_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('partner_texts_key', ['sovereign_id', 'material'])
      .execute()
    await tx.schema
      .createTable('partner_sequences')
      .addColumn('sovereign_id', orderedText, (c) => c.notNull())
      .addColumn('pin_digest', 'text', (c) => c.notNull())
      .addColumn('material', 'text', (c) => c.notNull())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('partner_sequences_key', ['sovereign_id', 'pin_digest', 'material'])
      .execute()
    await tx.schema
      .createTable('partner_alarms')
      .addColumn('alarm_id', 'text', (c) => c.primaryKey())
      .addColumn('sovereign_id', orderedText, (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('material', 'text', (c) => c.notNull())
      .addColumn('sequence', bigint)
      .addColumn('held_digest', 'text')
      .addColumn('offered_digest', 'text')
      .addColumn('held_text', 'text')
      .addColumn('offered_text', 'text')
      .addColumn('raised_at', 'text', (c) => c.notNull())
      .addColumn('cleared_at', 'text')
      .execute()
    await tx.schema
      .createIndex('partner_alarms_in_order')
      .on('partner_alarms')
      .columns(['sovereign_id', 'raised_at'])
      .execute()
    await tx.schema
      .createTable('reported_treaties')
      .addColumn('sovereign_id', orderedText, (c) => c.notNull())
      .addColumn('treaty_id', orderedText, (c) => c.notNull())
      .addColumn('subject_sovereign_id', 'text', (c) => c.notNull())
      .addColumn('treaty_json', 'text', (c) => c.notNull())
      .addColumn('digest', 'text', (c) => c.notNull())
      .addColumn('valid_from', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('starts_at', 'text', (c) => c.notNull())
      .addColumn('ends_at', 'text', (c) => c.notNull())
      .addColumn('hidden', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('reported_treaties_key', ['sovereign_id', 'treaty_id'])
      .execute()
    await tx.schema
      .createIndex('reported_treaties_by_subject')
      .on('reported_treaties')
      .columns(['subject_sovereign_id'])
      .execute()
  },
}
