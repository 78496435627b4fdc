import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Counters of certificates, updated by triggers, so that instances of the previous release count, too. SQLite has one
 * writer and raises one row. On PostgreSQL each statement adds a separate row, because a shared one would make all
 * joins wait for each other; a job adds them up. The index is for certificates that have ended or end within a day.
 */
export const issuedCounts: Migration = {
  version: 26,
  servesFrom: 25,
  async up(tx, { backend, bigint }) {
    await tx.schema
      .createTable('issued_counts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('issued', bigint, (c) => c.notNull())
      .addColumn('revoked', bigint, (c) => c.notNull())
      .addColumn('removed', bigint, (c) => c.notNull())
      .addColumn('removed_revoked', bigint, (c) => c.notNull())
      .execute()
    // The triggers first: they take the lock that keeps others from writing until the rows are counted.
    for (const text of backend === 'sqlite' ? SQLITE : POSTGRES) await sql.raw(text).execute(tx)
    await sql`insert into issued_counts (id, issued, revoked, removed, removed_revoked)
      select '', count(*), coalesce(sum(case when status = 'revoked' then 1 else 0 end), 0), 0, 0 from issued_certs`.execute(
      tx,
    )
    await sql`create index issued_certs_by_end on issued_certs (expires_at, status, revoke_after)`.execute(tx)
  },
}

const SQLITE = [
  `create trigger issued_certs_added after insert on issued_certs begin
    update issued_counts set issued = issued + 1, revoked = revoked + (new.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_changed after update of status on issued_certs when old.status <> new.status begin
    update issued_counts set revoked = revoked + (new.status = 'revoked') - (old.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_gone after delete on issued_certs begin
    update issued_counts set issued = issued - 1, revoked = revoked - (old.status = 'revoked') where id = ''; end`,
]

const POSTGRES = [
  `create or replace function issued_certs_counted() returns trigger language plpgsql as $$
    declare
      more bigint := 0;
      revocations bigint := 0;
    begin
      if tg_op = 'INSERT' then
        select count(*), count(*) filter (where status = 'revoked') into more, revocations from rows_after;
      elsif tg_op = 'DELETE' then
        select -count(*), -count(*) filter (where status = 'revoked') into more, revocations from rows_before;
      else
        revocations := (select count(*) from rows_after where status = 'revoked')
          - (select count(*) from rows_before where status = 'revoked');
      end if;
      if more <> 0 or revocations <> 0 then
        insert into issued_counts (id, issued, revoked, removed, removed_revoked)
          values (gen_random_uuid()::text, more, revocations, 0, 0);
      end if;
      return null;
    end $$`,
  `create trigger issued_certs_added after insert on issued_certs referencing new table as rows_after
    for each statement execute function issued_certs_counted()`,
  `create trigger issued_certs_changed after update on issued_certs referencing old table as rows_before new table as rows_after
    for each statement execute function issued_certs_counted()`,
  `create trigger issued_certs_gone after delete on issued_certs referencing old table as rows_before
    for each statement execute function issued_certs_counted()`,
]
