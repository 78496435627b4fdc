import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * The public key of a revoked operator key, so that it is refused under every id; null in rows of before. And the index of
 * recorded operators: without it every start reads the audit log back to the last change.
 */
export const revokedPublicKeys: Migration = {
  version: 33,
  servesFrom: 25,
  async up(tx) {
    await sql`alter table revoked_operator_keys add column public_key text`.execute(tx)
    await sql`create index audit_events_operator_changes on audit_events (created_at desc)
      where event_type = 'operator_keys_changed'`.execute(tx)
  },
}
