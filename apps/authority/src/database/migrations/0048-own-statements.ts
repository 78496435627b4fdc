import { PARTITION_EVENTS, partitionSize, roomBelow } from '../partitions/audit-partitions.ts'

// What only one engine has: triggers, indexes by prefix, partitions.

const isLive = (row: string): string => `(${row}.revoke_after is null and ${row}.silent_since is null)`

/**
 * The database itself refuses to change an entry, and to delete one that no checkpoint covers, so a wrong statement
 * fails. The owner of the database can remove the trigger. Then the chain, the anchors and the log show the change.
 */
export const SQLITE = [
  `create trigger evidence_entries_fixed before update on evidence_entries begin
    select raise(abort, 'evidence entries are never changed'); end`,
  `create trigger evidence_entries_kept before delete on evidence_entries
    when old.store_sequence > (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) begin
    select raise(abort, 'evidence entries are removed by retention only'); end`,
  // One writer at a time: what is numbered inside its transaction is numbered in the order of the commits.
  `create trigger audit_events_numbered after insert on audit_events begin
    insert into audit_numbers (event_id) values (new.event_id); end`,
  `create trigger issued_certs_added after insert on issued_certs begin
    update issued_counts set issued = issued + 1, revoked = revoked + (new.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_changed after update of status on issued_certs when old.status <> new.status begin
    update issued_counts set revoked = revoked + (new.status = 'revoked') - (old.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_gone after delete on issued_certs begin
    update issued_counts set issued = issued - 1, revoked = revoked - (old.status = 'revoked') where id = ''; end`,
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

export const POSTGRES = [
  // Room on each page: a row is rewritten in place, and a heartbeat touches no index.
  'alter table node_liveness set (fillfactor = 70)',
  'alter table agent_registrations set (fillfactor = 80)',
  'alter table crl_segments alter column body set storage external',
  // On SQLite issued_certs_newest_of_key and the primary keys of the other two serve prefixes.
  'create index issued_certs_by_key_prefix on issued_certs (node_public_key collate "C", cert_id)',
  'create index agent_capabilities_by_prefix on agent_capabilities (capability collate "C", node_public_key)',
  'create index agent_capability_counts_by_prefix on agent_capability_counts (capability collate "C")',
  'insert into audit_numbering (id, last_sequence) values (1, 0)',
  // The transaction of an event, from which it is numbered.
  'alter table audit_events add column xact bigint default (pg_current_xact_id()::text::bigint)',
  'create index audit_events_by_xact on audit_events (xact)',
  // The position by which audit events, their numbers and their subjects are partitioned when they are large. Numbers
  // and subjects are inserted without the position of their event: they take the last one given.
  'create sequence audit_positions',
  // So that it has a last value.
  "select nextval('audit_positions')",
  partitionSize(PARTITION_EVENTS),
  // Without partitions positions have no end. The largest integer that the program reads exactly.
  roomBelow(Number.MAX_SAFE_INTEGER),
  // A role that may insert events, such as one for exports.
  `do $$ declare other record; begin
    for other in select distinct a.grantee from pg_class c, aclexplode(c.relacl) a
      where c.oid in ('audit_events'::regclass, 'audit_numbers'::regclass)
        and a.privilege_type = 'INSERT' and a.grantee <> c.relowner loop
      execute format('grant usage on sequence audit_positions to %s',
        case when other.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(other.grantee)) end);
    end loop; end $$`,
  `alter table audit_events add column position bigint not null
    default audit_within_room(nextval('audit_positions'::regclass))`,
  ...['audit_numbers', 'audit_subjects'].map(
    (table) => `alter table ${table} add column position bigint not null
      default audit_within_room(pg_sequence_last_value('audit_positions'::regclass))`,
  ),
  `create function evidence_entries_guard() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' and old.store_sequence <= (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) then
        return old;
      end if;
      raise exception 'evidence entries are never changed, and removed by retention only';
    end $$`,
  `create trigger evidence_entries_fixed before update or delete on evidence_entries
    for each row execute function evidence_entries_guard()`,
  `create trigger evidence_entries_whole before truncate on evidence_entries
    for each statement execute function evidence_entries_guard()`,
  // A unique index of a partition does not see the others, so a trigger of the partitioned table calls this function.
  // Appends are made one after the other, under the lock of the head, so what is compared here is complete. Entries of
  // the same partition are not compared: `here` is its first one. Its argument is the size of partitions.
  `create function evidence_entries_unique() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
    set plan_cache_mode = force_generic_plan as $$
    declare
      here bigint := (select max(store_sequence) / tg_argv[0]::bigint * tg_argv[0]::bigint from added);
      repeated text;
    begin
      if here is null or here <= 0 then return null; end if;
      select name into repeated from (
        select 'evidence_one_decision' as name from added a join evidence_entries e on e.decision_id = a.decision_id
          where a.entry_kind = 'decision' and e.entry_kind = 'decision'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_evidence_id' from added a join evidence_entries e on e.evidence_id = a.evidence_id
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_position' from added a join evidence_entries e
          on e.decision_id = a.decision_id and e.exec_sequence_no = a.exec_sequence_no
          where a.entry_kind = 'execution' and e.entry_kind = 'execution'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_resource_position' from added a join evidence_entries e
          on e.resource_id = a.resource_id and e.resource_sequence = a.resource_sequence
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
      ) as same limit 1;
      if repeated is not null then
        raise unique_violation using message = 'an earlier partition has the same value', constraint = repeated;
      end if;
      return null;
    end $$`,
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
  // Two joins of one key at the same time do not see each other: a job finds such keys.
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
