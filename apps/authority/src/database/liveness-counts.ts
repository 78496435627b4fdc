import { sql } from 'kysely'
import type { Database, Reader, Transaction } from './database.ts'

/** The row the others are added up in. */
const SUM = ''
const AT_ONCE = 5000

export interface CountTimes {
  readonly now: string
  /** A heartbeat at or before it is too old. */
  readonly since: string
}

/**
 * Counts active node keys by the counter of migration 44, without reading the rows of the network. It reads the
 * certificates in their grace period and the keys with several certificates. A node that became silent leaves the count
 * with the next run of the job that marks it.
 */
export async function countLiveNodes(db: Reader, { now, since }: CountTimes): Promise<number> {
  const liveOf = (key: string) => sql`issued_certs k join node_liveness m on m.cert_id = k.cert_id
    where k.node_public_key = ${sql.ref(key)} and m.revoke_after is null and m.silent_since is null`
  const { rows } = await sql<Record<'live' | 'repeated' | 'in_grace', number | string | null>>`
    select (select coalesce(sum(live), 0) from node_liveness_counts) as live,
      (select coalesce(sum(n - 1), 0) from (
        select (select count(*) from ${liveOf('t.node_public_key')}) as n from node_liveness_twins t) twins
        where n > 1) as repeated,
      (select count(distinct l.node_public_key) from node_liveness l
        where l.revoke_after > ${now} and l.last_heartbeat > ${since}
          and not exists (select 1 from ${liveOf('l.node_public_key')})) as in_grace`.execute(db)
  const [found] = rows
  return Number(found?.live ?? 0) - Number(found?.repeated ?? 0) + Number(found?.in_grace ?? 0)
}

/**
 * Adds up the rows that statements left on PostgreSQL, finds keys that got certificates at the same time, and removes
 * keys that have one certificate again. `recent`: certificates that were issued later are looked at.
 */
export async function foldLivenessCounts(database: Database, recent: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await database.write((tx) => foldSome(database, tx))));
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted;) {
    const keys = await readTwins(database.read, after)
    if (keys.length > 0) await database.write((tx) => removeSingle(tx, keys))
    after = keys.length === AT_ONCE ? keys.at(-1) : undefined
  }
  // Last, so that a key is found again that got a certificate while it was removed. SQLite has one writer.
  if (database.engine === 'postgres') await database.write((tx) => addTwins(tx, recent))
}

async function addTwins({ query }: Transaction, recent: string): Promise<void> {
  await sql`insert into node_liveness_twins (node_public_key)
    select distinct c.node_public_key from issued_certs c join node_liveness l on l.cert_id = c.cert_id
    where c.issued_at > ${recent} and l.revoke_after is null and exists (
      select 1 from issued_certs k join node_liveness m on m.cert_id = k.cert_id
      where k.node_public_key = c.node_public_key and m.cert_id <> c.cert_id and m.revoke_after is null)
    on conflict do nothing`.execute(query)
}

/** Under the lock of the sum, so that two instances do not add the same rows; true when there may be more. */
async function foldSome({ engine }: Database, { query }: Transaction): Promise<boolean> {
  const sum = query.selectFrom('node_liveness_counts').select('id').where('id', '=', SUM)
  await (engine === 'postgres' ? sum.forUpdate() : sum).executeTakeFirstOrThrow()
  const some = await query
    .selectFrom('node_liveness_counts')
    .selectAll()
    .where('id', '<>', SUM)
    .limit(AT_ONCE)
    .execute()
  if (some.length === 0) return false
  const ids = some.map(({ id }) => id)
  await query.deleteFrom('node_liveness_counts').where('id', 'in', ids).execute()
  const more = some.reduce((all, { live }) => all + Number(live), 0)
  await query
    .updateTable('node_liveness_counts')
    .set({ live: sql<number>`live + ${more}` })
    .where('id', '=', SUM)
    .execute()
  return some.length === AT_ONCE
}

async function readTwins(db: Reader, after: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('node_liveness_twins')
    .select('node_public_key')
    .where('node_public_key', '>', after)
    .orderBy('node_public_key')
    .limit(AT_ONCE)
    .execute()
  return rows.map(({ node_public_key }) => node_public_key)
}

async function removeSingle(tx: Transaction, keys: readonly string[]): Promise<void> {
  await tx.query
    .deleteFrom('node_liveness_twins')
    .where('node_public_key', 'in', keys)
    .where(
      sql<boolean>`(select count(*) from issued_certs k join node_liveness m on m.cert_id = k.cert_id
        where k.node_public_key = node_liveness_twins.node_public_key and m.revoke_after is null) < 2`,
    )
    .execute()
}
