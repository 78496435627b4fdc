import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Which audit events name an id: a node key, a certificate, a decision. The primary key has the order of a list by time.
 * Events of before are indexed by a job (audit/index-subjects.job.ts), from this position backwards.
 */
export const auditSubjects: Migration = {
  version: 31,
  servesFrom: 25,
  async up(tx, { backend }) {
    const create = tx.schema
      .createTable('audit_subjects')
      .addColumn('subject', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('event_id', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('audit_subjects_key', ['subject', 'created_at', 'event_id'])
    await (backend === 'sqlite' ? create.modifyEnd(sql`without rowid`) : create).execute()
    await sql`insert into moments (name, at)
      select 'audit subjects before', created_at || ' ' || event_id from audit_events
      order by created_at desc, event_id desc limit 1`.execute(tx)
  },
}
