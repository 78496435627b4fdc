import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * For large fleets:
 * - The signed time of the last accepted heartbeat of a certificate, in microseconds. An empty column is added without
 *   reading the table.
 * - A counter of liveness rows that are neither marked as silent nor superseded, updated by triggers, so that instances of
 *   the previous release count, too. Heartbeats change neither column, so they change no counter.
 * - Twins: keys that may have several such rows and count once.
 * - Intervals that nodes were asked for.
 *
 * The names of the counters follow that of node_liveness: a copy of the database replaces them after its rows.
 */
export const liveness: Migration = {
  version: 44,
  servesFrom: 43,
  async up(tx, { backend, bigint }) {
    await tx.schema.alterTable('node_liveness').addColumn('signed_at', bigint).execute()
    await tx.schema
      .createTable('node_liveness_counts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('live', bigint, (c) => c.notNull())
      .execute()
    await tx.schema
      .createTable('node_liveness_twins')
      .addColumn('node_public_key', 'text', (c) => c.primaryKey())
      .execute()
    await tx.schema
      .createTable('heartbeat_paces')
      .addColumn('seconds', 'integer', (c) => c.primaryKey())
      .addColumn('until', 'text', (c) => c.notNull())
      .execute()
    // The triggers first: they take the lock that keeps others from writing until the rows are counted.
    for (const text of backend === 'sqlite' ? SQLITE : POSTGRES) await sql.raw(text).execute(tx)
    await sql`insert into node_liveness_counts (id, live)
      select '', count(*) from node_liveness where revoke_after is null and silent_since is null`.execute(tx)
    await sql`insert into node_liveness_twins (node_public_key) select node_public_key from node_liveness
      where revoke_after is null and node_public_key is not null group by node_public_key having count(*) > 1`.execute(
      tx,
    )
    await sql`create index node_liveness_superseded on node_liveness (revoke_after) where revoke_after is not null`.execute(
      tx,
    )
  },
}

const isLive = (row: string): string => `(${row}.revoke_after is null and ${row}.silent_since is null)`

const SQLITE = [
  `create trigger node_liveness_added after insert on node_liveness begin
    update node_liveness_counts set live = live + ${isLive('new')} where id = '';
    insert into node_liveness_twins (node_public_key) select new.node_public_key
      where new.revoke_after is null and exists (select 1 from issued_certs k join node_liveness m on m.cert_id = k.cert_id
        where k.node_public_key = new.node_public_key and m.cert_id <> new.cert_id and m.revoke_after is null)
      on conflict do nothing; end`,
  `create trigger node_liveness_changed after update of revoke_after, silent_since on node_liveness
    when ${isLive('old')} <> ${isLive('new')} begin
    update node_liveness_counts set live = live + ${isLive('new')} - ${isLive('old')} where id = ''; end`,
  `create trigger node_liveness_gone after delete on node_liveness begin
    update node_liveness_counts set live = live - ${isLive('old')} where id = ''; end`,
]

// Each statement adds a separate row, because a shared one would make all joins wait for each other. Two joins of one key
// at the same time do not see each other: a job finds such keys.
const POSTGRES = [
  `create or replace function node_liveness_counted() returns trigger language plpgsql as $$
    declare
      more bigint := 0;
    begin
      if tg_op = 'UPDATE' then
        more := case when ${isLive('new')} then 1 else -1 end;
      elsif tg_op = 'DELETE' then
        select -count(*) into more from rows_before where revoke_after is null and silent_since is null;
      else
        select count(*) into more from rows_after where revoke_after is null and silent_since is null;
        insert into node_liveness_twins (node_public_key)
          select distinct a.node_public_key from rows_after a where a.revoke_after is null and exists (
            select 1 from issued_certs k join node_liveness m on m.cert_id = k.cert_id
            where k.node_public_key = a.node_public_key and m.cert_id <> a.cert_id and m.revoke_after is null)
          order by 1 on conflict do nothing;
      end if;
      if more <> 0 then
        insert into node_liveness_counts (id, live) values (gen_random_uuid()::text, more);
      end if;
      return null;
    end $$`,
  `create trigger node_liveness_added after insert on node_liveness referencing new table as rows_after
    for each statement execute function node_liveness_counted()`,
  `create trigger node_liveness_changed after update of revoke_after, silent_since on node_liveness
    for each row when (${isLive('old')} <> ${isLive('new')}) execute function node_liveness_counted()`,
  `create trigger node_liveness_gone after delete on node_liveness referencing old table as rows_before
    for each statement execute function node_liveness_counted()`,
]
