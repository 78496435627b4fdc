import { LIMITS, type NodeState } from '@chancery/contract'
import { type RawBuilder, sql } from 'kysely'
import type { Reader } from '../../../database/database.ts'
import type { Moment } from '../mark-silent.job.ts'

/** `more`: there are more than were counted. */
export interface BoundedCount {
  readonly count: number
  readonly more: boolean
}

export type NodeCounts = Readonly<Record<NodeState | 'all', BoundedCount>>

const BOUND = LIMITS.listCountMax

/** Only the newest certificate of a key counts. */
export const IS_NEWEST = sql`not exists (select 1 from issued_certs k where k.node_public_key = c.node_public_key
  and (k.issued_at > c.issued_at or (k.issued_at = c.issued_at and k.cert_id > c.cert_id)))`

const COLUMNS = sql`cert_id, node_public_key, issued_at, expires_at`

/** Counts nodes by state. Each count reads at most 10,001 rows of an index, whatever the size of the network. */
export async function countNodes(db: Reader, moment: Moment, isLarge: boolean): Promise<NodeCounts> {
  const { now, endsSoonUntil } = moment
  const live = await countLive(db, moment)
  const valid = sql`status = 'issued' and revoke_after is null`
  const soon = sql`expires_at > ${now} and expires_at <= ${endsSoonUntil} and ${valid}`
  return {
    all: await count(db, sql`select ${COLUMNS} from issued_certs order by issued_at desc`),
    active: live.active,
    ends_soon: isLarge
      ? await countHeard(db, sql`select ${COLUMNS} from issued_certs where ${soon}`, moment)
      : live.ends_soon,
    silent: isLarge ? await countMarked(db, moment) : live.silent,
    superseded: await count(
      db,
      sql`select ${COLUMNS} from issued_certs
        where status = 'issued' and revoke_after is not null and revoke_after <= ${now} order by issued_at desc`,
    ),
    revoked: await count(db, sql`select ${COLUMNS} from issued_certs where status = 'revoked' order by issued_at desc`),
    expired: await count(
      db,
      sql`select ${COLUMNS} from issued_certs where expires_at <= ${now} and status = 'issued'
        and (revoke_after is null or revoke_after > ${now}) order by expires_at desc`,
    ),
  }
}

/** How many candidates were read, and how many of them count. */
interface Counted {
  readonly looked: number
  readonly found: number
}

function toBounded({ looked, found }: Counted): BoundedCount {
  return { count: Math.min(Number(found), BOUND), more: Number(looked) > BOUND }
}

async function count(db: Reader, candidates: RawBuilder<unknown>): Promise<BoundedCount> {
  const { rows } = await sql<Counted>`
    select count(*) as looked, coalesce(sum(case when ${IS_NEWEST} then 1 else 0 end), 0) as found
    from (${candidates} limit ${BOUND + 1}) c`.execute(db)
  return toBounded(rows[0] ?? { looked: 0, found: 0 })
}

async function countHeard(db: Reader, candidates: RawBuilder<unknown>, { silentUntil }: Moment): Promise<BoundedCount> {
  const { rows } = await sql<Counted>`
    select count(*) as looked,
      coalesce(sum(case when l.last_heartbeat > ${silentUntil} and ${IS_NEWEST} then 1 else 0 end), 0) as found
    from (${candidates} limit ${BOUND + 1}) c left join node_liveness l on l.cert_id = c.cert_id`.execute(db)
  return toBounded(rows[0] ?? { looked: 0, found: 0 })
}

async function countMarked(db: Reader, { now }: Moment): Promise<BoundedCount> {
  const { rows } = await sql<Counted>`
    select count(*) as looked, coalesce(sum(case when c.status = 'issued' and c.expires_at > ${now}
      and (c.revoke_after is null or c.revoke_after > ${now}) and ${IS_NEWEST} then 1 else 0 end), 0) as found
    from (select cert_id from node_liveness where silent_since is not null order by silent_since limit ${BOUND + 1}) l
      join issued_certs c on c.cert_id = l.cert_id`.execute(db)
  return toBounded(rows[0] ?? { looked: 0, found: 0 })
}

/** States of nodes with heartbeats, exact in a network of at most 10,000. */
async function countLive(
  db: Reader,
  { now, silentUntil, endsSoonUntil }: Moment,
): Promise<Readonly<Record<'active' | 'ends_soon' | 'silent', BoundedCount>>> {
  const { rows } = await sql<{ readonly state: string; readonly looked: number }>`
    select state, count(*) as looked from (
      select case when c.status <> 'issued' or c.expires_at <= ${now}
          or (c.revoke_after is not null and c.revoke_after <= ${now}) or not (${IS_NEWEST}) then 'other'
        when l.last_heartbeat <= ${silentUntil} then 'silent'
        when c.expires_at <= ${endsSoonUntil} then 'ends_soon' else 'active' end as state
      from (select cert_id, last_heartbeat from node_liveness limit ${BOUND + 1}) l
        join issued_certs c on c.cert_id = l.cert_id) states group by state`.execute(db)
  const looked = rows.reduce((all, row) => all + Number(row.looked), 0)
  const of = (state: string): BoundedCount =>
    toBounded({ looked, found: Number(rows.find((row) => row.state === state)?.looked ?? 0) })
  return { active: of('active'), ends_soon: of('ends_soon'), silent: of('silent') }
}
