import { sql } from 'kysely'
import type { Migration } from '../database.ts'

/** Requests that wait for a person, the statements about them, and the events that a webhook is sent. */
export const approvals: Migration = {
  version: 54,
  servesFrom: 48,
  async up(tx) {
    await tx.schema
      .createTable('approvals')
      .addColumn('approval_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('request_digest', 'text', (c) => c.notNull())
      .addColumn('asker', 'text', (c) => c.notNull())
      .addColumn('subject', 'text')
      .addColumn('excluded_keys', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('opened_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('use_seconds', 'integer', (c) => c.notNull())
      .addColumn('use_until', 'text')
      .addColumn('ended_at', 'text')
      .addColumn('cause', 'text')
      .addColumn('decision_id', 'text', (c) => c.notNull())
      .addColumn('used_by_decision_id', 'text')
      .addColumn('parties_json', 'text', (c) => c.notNull())
      .addColumn('request_json', 'text', (c) => c.notNull())
      .addColumn('record_digest', 'text', (c) => c.notNull())
      .addColumn('history_json', 'text', (c) => c.notNull())
      .execute()
    // One open approval for each request; the digest covers who asked.
    await sql`create unique index approvals_open on approvals (request_digest)
      where state in ('pending', 'approved')`.execute(tx)
    await tx.schema.createIndex('approvals_by_request').on('approvals').columns(['request_digest', 'state']).execute()
    await tx.schema.createIndex('approvals_by_state').on('approvals').columns(['state', 'opened_at']).execute()
    await tx.schema.createIndex('approvals_by_asker').on('approvals').columns(['asker', 'state']).execute()
    await tx.schema.createIndex('approvals_by_subject').on('approvals').columns(['subject', 'state']).execute()
    await tx.schema.createIndex('approvals_by_decision').on('approvals').column('decision_id').execute()
    await tx.schema.createIndex('approvals_by_end').on('approvals').column('ended_at').execute()
    await tx.schema
      .createTable('approval_statements')
      .addColumn('statement_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('approval_id', 'text', (c) => c.notNull())
      .addColumn('position', 'integer', (c) => c.notNull())
      .addColumn('verdict', 'text', (c) => c.notNull())
      .addColumn('signer_json', 'text', (c) => c.notNull())
      .addColumn('attestation_json', 'text')
      .addColumn('statement_json', 'text', (c) => c.notNull())
      .addColumn('statement_digest', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('statements_of_approval').on('approval_statements').column('approval_id').execute()
    await tx.schema
      .createTable('approval_uses')
      .addColumn('use_key', 'text', (c) => c.notNull().primaryKey())
      .addColumn('used_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema
      .createTable('approval_notices')
      .addColumn('event_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('approval_id', 'text', (c) => c.notNull())
      .addColumn('position', 'integer', (c) => c.notNull())
      .addColumn('event', 'text', (c) => c.notNull())
      .addColumn('body_json', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .addColumn('next_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('approval_notices_due').on('approval_notices').column('next_at').execute()
  },
}
