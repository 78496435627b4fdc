import { DAY, type Instant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { StoredSuccession } from '../../signing/newest-block.ts'
import type { Database, Reader, Transaction } from '../../database/database.ts'

export async function storeSuccession(tx: Transaction, row: StoredSuccession): Promise<void> {
  await tx.query.deleteFrom('key_succession').execute()
  await tx.query
    .insertInto('key_succession')
    .values({ id: 1, ...row })
    .execute()
}

export async function enterPhase(
  tx: Transaction,
  phase: 'switched' | 'retired',
  more: { readonly switched_at?: string } = {},
): Promise<void> {
  await tx.query
    .updateTable('key_succession')
    .set({ phase, first_list_json: null, switch_stage: null, ...more })
    .where('id', '=', 1)
    .execute()
}

/** Counts the nodes that have a block, among those with a heartbeat within a day. */
export interface Followers {
  readonly holding: number
  readonly nodes: number
}

/**
 * A node counts once, whatever its number of certificates. It has the block if it reported the block with any of them.
 */
export async function countFollowers(db: Reader, digest: string, now: Instant): Promise<Followers> {
  const since = writeSortable(now - DAY)
  const { rows } = await sql<{ nodes: number; holding: number }>`
    select count(distinct coalesce(node_public_key, cert_id)) as nodes,
      count(distinct case when genesis_digest = ${digest} then coalesce(node_public_key, cert_id) end) as holding
    from node_liveness where last_heartbeat > ${since} and (revoke_after is null or revoke_after > ${writeSortable(now)})`.execute(
    db,
  )
  return { holding: Number(rows[0]?.holding ?? 0), nodes: Number(rows[0]?.nodes ?? 0) }
}

/** Counts certificates of a key that a node could still use. */
export async function countUsable(database: Database, tx: Reader, keyId: string, now: Instant): Promise<number> {
  const at = writeSortable(now)
  const issuer =
    database.engine === 'postgres' ? sql`cert_json::json ->> 'issued_by'` : sql`json_extract(cert_json, '$.issued_by')`
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from issued_certs
    where status = 'issued' and expires_at > ${at} and (revoke_after is null or revoke_after > ${at})
      and ${issuer} = ${keyId}`.execute(tx)
  return Number(rows[0]?.count ?? 0)
}

/** Some nodes with a heartbeat within a day that have not reported the block, by a certificate of each. */
export async function listLacking(db: Reader, digest: string, now: Instant, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ cert_id: string }>`
    select max(cert_id) as cert_id from node_liveness
    where last_heartbeat > ${writeSortable(now - DAY)} and (revoke_after is null or revoke_after > ${writeSortable(now)})
    group by coalesce(node_public_key, cert_id)
    having max(case when genesis_digest = ${digest} then 1 else 0 end) = 0 limit ${limit}`.execute(db)
  return rows.map((row) => row.cert_id)
}
