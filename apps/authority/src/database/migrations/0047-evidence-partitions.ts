import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * PostgreSQL only: what evidence entries in partitions need. The table itself stays as it is. When it is large, the job
 * evidence-partitions changes it while instances serve.
 *
 * A unique index of a partition does not see the others, so a trigger of the partitioned table calls this function.
 * Appends are made one after the other, under the lock of the head, so what is compared here is complete. Entries of the
 * same partition are not compared: `here` is its first one. Its argument is the size of partitions.
 */
export const evidencePartitions: Migration = {
  version: 47,
  servesFrom: 46,
  async up(tx, { backend }) {
    if (backend === 'sqlite') return
    await sql`create function evidence_entries_unique() returns trigger language plpgsql
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
      end $$`.execute(tx)
  },
}
