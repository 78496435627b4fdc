import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Who made an invite, in which batch, and who withdrew it; what lists and withdrawals look them up by. */
export const inviteMakers: Migration = {
  version: 23,
  async up(tx) {
    for (const column of ['created_by', 'batch_id', 'withdrawn_at', 'withdrawn_by'])
      await sql`alter table invite_tokens add column ${sql.ref(column)} text`.execute(tx)
    await tx.schema
      .createIndex('invite_tokens_by_time')
      .on('invite_tokens')
      .columns(['created_at', 'token_digest'])
      .execute()
    await tx.schema.createIndex('invite_tokens_by_maker').on('invite_tokens').column('created_by').execute()
    await tx.schema.createIndex('invite_tokens_by_batch').on('invite_tokens').column('batch_id').execute()
    await sql`create index invite_tokens_by_fingerprint on invite_tokens (substr(token_digest, 1, 16))`.execute(tx)
  },
}
