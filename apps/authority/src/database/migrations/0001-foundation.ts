import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Domain rows, nonces, audit, operator keys, policy and list versions, invites, certificates, limiter, leases. */
export const foundation: Migration = {
  version: 1,
  async up(tx, { backend, binary, bigint }) {
    await tx.schema
      .createTable('authority_identity')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('network_name', 'text', (c) => c.notNull())
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()

    await tx.schema
      .createTable('heads')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('version', bigint, (c) => c.notNull())
      .execute()
    const names = ['operator-keys', 'crl', 'policy']
    await tx
      .insertInto('heads')
      .values(names.map((name) => ({ name, version: 0 })))
      .execute()

    await tx.schema
      .createTable('nonces')
      .addColumn('claim', binary, (c) => c.primaryKey())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('nonces_by_expiry').on('nonces').column('expires_at').execute()

    await tx.schema
      .createTable('audit_events')
      .addColumn('event_id', 'text', (c) => c.primaryKey())
      .addColumn('event_type', 'text', (c) => c.notNull())
      .addColumn('event_json', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema
      .createIndex('audit_events_by_type')
      .on('audit_events')
      .columns(['event_type', 'created_at'])
      .execute()
    await tx.schema.createIndex('audit_events_by_time').on('audit_events').column('created_at').execute()

    await tx.schema
      .createTable('revoked_operator_keys')
      .addColumn('key_id', 'text', (c) => c.primaryKey())
      .addColumn('revoked_at', 'text', (c) => c.notNull())
      .addColumn('reason', 'text', (c) => c.notNull())
      .addColumn('revoked_by', 'text', (c) => c.notNull())
      .execute()

    await tx.schema
      .createTable('policy_versions')
      .addColumn('position', bigint, (c) => c.primaryKey())
      .addColumn('policy_id', 'text', (c) => c.notNull().unique())
      .addColumn('policy_json', 'text', (c) => c.notNull())
      .addColumn('active', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    // The second guard behind the head lock: two active versions cannot be stored.
    await sql`create unique index policy_versions_one_active on policy_versions (active) where active = 1`.execute(tx)

    await tx.schema
      .createTable('crl_versions')
      .addColumn('sequence', bigint, (c) => c.primaryKey())
      .addColumn('crl_json', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .addColumn('next_update', 'text', (c) => c.notNull())
      .addColumn('entries', 'integer', (c) => c.notNull())
      .execute()
    // The live entries, each already in its signed spelling: a new version appends instead of parsing the last one.
    await tx.schema
      .createTable('crl_entries')
      .addColumn('position', bigint, (c) => c.primaryKey())
      .addColumn('cert_id', 'text', (c) => c.notNull().unique())
      .addColumn('entry_json', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('crl_entries_by_expiry').on('crl_entries').column('expires_at').execute()

    await tx.schema
      .createTable('invite_tokens')
      .addColumn('token_digest', 'text', (c) => c.primaryKey())
      .addColumn('assigned_roles_json', 'text', (c) => c.notNull())
      .addColumn('max_validity_hours', 'integer', (c) => c.notNull())
      .addColumn('recipient_public_key', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('used_at', 'text')
      .addColumn('used_by_key', 'text')
      .execute()

    await tx.schema
      .createTable('issued_certs')
      .addColumn('cert_id', 'text', (c) => c.primaryKey())
      .addColumn('node_public_key', 'text', (c) => c.notNull())
      .addColumn('cert_json', 'text', (c) => c.notNull())
      .addColumn('roles_json', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('max_validity_hours', 'integer', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('renewed_from', 'text')
      .addColumn('revoke_after', 'text')
      .addColumn('list_after', 'text')
      .addColumn('revoked_at', 'text')
      .addColumn('revocation_reason', 'text')
      .execute()
    await tx.schema.createIndex('issued_certs_by_key').on('issued_certs').column('node_public_key').execute()
    // Small partial indexes for frequent queries: certificates due for the list, and compromised keys.
    await sql`create index issued_certs_due on issued_certs (list_after) where list_after is not null`.execute(tx)
    await sql`create index issued_certs_compromised on issued_certs (node_public_key) where revocation_reason = 'key_compromise'`.execute(
      tx,
    )

    await tx.schema
      .createTable('node_liveness')
      .addColumn('cert_id', 'text', (c) => c.primaryKey())
      .addColumn('last_heartbeat', 'text', (c) => c.notNull())
      .addColumn('heartbeat_status', 'text', (c) => c.notNull())
      .addColumn('remote_addr', 'text', (c) => c.notNull())
      .addColumn('revoke_after', 'text')
      .execute()
    // Room on each page: a heartbeat rewrites its row in place and touches no index.
    if (backend === 'postgres') await sql`alter table node_liveness set (fillfactor = 70)`.execute(tx)

    await tx.schema
      .createTable('idempotency_keys')
      .addColumn('scope', 'text', (c) => c.notNull())
      .addColumn('idempotency_key', 'text', (c) => c.notNull())
      .addColumn('body_digest', 'text', (c) => c.notNull())
      .addColumn('answer_json', 'text')
      .addColumn('status', 'integer', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('idempotency_keys_key', ['scope', 'idempotency_key'])
      .execute()
    await tx.schema.createIndex('idempotency_keys_by_expiry').on('idempotency_keys').column('expires_at').execute()

    await tx.schema
      .createTable('rate_limit_windows')
      .addColumn('bucket', 'text', (c) => c.notNull())
      .addColumn('window_start', bigint, (c) => c.notNull())
      .addColumn('hits', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('rate_limit_windows_key', ['bucket', 'window_start'])
      .execute()

    await tx.schema
      .createTable('job_leases')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('holder', 'text', (c) => c.notNull())
      .addColumn('token', bigint, (c) => c.notNull())
      .addColumn('acquired_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
  },
}
