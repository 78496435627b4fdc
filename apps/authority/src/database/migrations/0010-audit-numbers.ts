import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** A number for every audit event, in an order that no later event can slip in before; see audit/sequence.ts. */
export const auditNumbers: Migration = {
  version: 10,
  async up(tx, { backend, bigint }) {
    await tx.schema
      .createTable('audit_numbers')
      .addColumn('sequence', backend === 'sqlite' ? 'integer' : bigint, (c) => c.primaryKey())
      .addColumn('event_id', 'text', (c) => c.notNull().unique())
      .execute()
    await tx.schema
      .createTable('audit_numbering')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('last_sequence', bigint, (c) => c.notNull())
      .addColumn('from_xact', bigint)
      .addColumn('server', 'text')
      .execute()
    await tx.schema
      .createTable('audit_forwards')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addColumn('event_id', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    if (backend === 'sqlite') {
      await sql`insert into audit_numbers (event_id) select event_id from audit_events order by created_at, event_id`.execute(
        tx,
      )
      // One writer at a time: what is numbered inside its transaction is numbered in the order of the commits.
      await sql`create trigger audit_events_numbered after insert on audit_events begin insert into audit_numbers (event_id) values (new.event_id); end`.execute(
        tx,
      )
      return
    }
    await sql`insert into audit_numbering (id, last_sequence) values (1, 0)`.execute(tx)
    // Old rows stay without a value: their transactions ended before this one could lock the table. A default for them
    // would rewrite the whole table.
    await sql`alter table audit_events add column xact bigint`.execute(tx)
    await sql`alter table audit_events alter column xact set default (pg_current_xact_id()::text::bigint)`.execute(tx)
    await sql`create index audit_events_by_xact on audit_events (xact)`.execute(tx)
  },
}
