import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Large revocation lists are stored in segments that versions share. The text of such a version is its frame with the
 * segments between its brackets; its column `crl_json` is empty, so a reader that knows no segments reads no list.
 */
export const listSegments: Migration = {
  version: 46,
  async up(tx, { backend, binary, bigint }) {
    await tx.schema
      .createTable('crl_segments')
      .addColumn('bucket', bigint, (c) => c.notNull())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addColumn('body', binary, (c) => c.notNull())
      .addColumn('replaced_by', bigint)
      .addPrimaryKeyConstraint('crl_segments_pk', ['bucket', 'sequence'])
      .execute()
    await tx.schema.createIndex('crl_segments_by_replacement').on('crl_segments').column('replaced_by').execute()
    // Bodies are compressed already.
    if (backend === 'postgres') await sql`alter table crl_segments alter column body set storage external`.execute(tx)
    await sql`alter table crl_versions add column frame_json text`.execute(tx)
    await sql`alter table crl_versions add column segments_json text`.execute(tx)
    await sql`alter table crl_versions add column digest text`.execute(tx)
  },
}
