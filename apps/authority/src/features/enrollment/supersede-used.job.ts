import { type Instant, seconds, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader } from '../../database/database.ts'
import type { EnrollmentParts } from './present.ts'
import { graceEnd } from './renew.ts'
import { supersede } from './queries/renewals.ts'

const MAX_AT_ONCE = 1000

/**
 * For certificates renewed across a key succession: the predecessor ends, after the grace time, when its successor was
 * used for a heartbeat. A node that could not use the successor keeps its certificate. A certificate that the node left
 * for another one of the same line ends, too.
 */
export async function supersedeUsed(parts: EnrollmentParts): Promise<void> {
  if (!parts.signing.isAllowed()) return
  const { database } = parts
  const now = parts.clock.now()
  const former = await database.read
    .selectFrom('former_keys')
    .select('key_id')
    .where('lists_until', '>', writeSortable(now))
    .limit(1)
    .executeTakeFirst()
  // Otherwise a renewal ends its predecessor directly, or all certificates of the former key have ended. Without this
  // check all certificates would be read every minute after the first succession, permanently.
  if (former === undefined) return
  // Read first: on SQLite one writer at a time would wait for it.
  const ended = [...(await findUsed(database.read, now)), ...(await findLeft(database.read, parts, now))]
  if (ended.length === 0) return
  await database.write(async (tx) => {
    for (const row of ended) await supersede(tx, row.cert_id, graceEnd(parts, row, now))
  })
}

interface Ended {
  readonly cert_id: string
  readonly expires_at: string
}

/** Predecessors of used certificates. */
function findUsed(db: Reader, now: Instant): Promise<Ended[]> {
  return db
    .selectFrom('issued_certs as old')
    .innerJoin('issued_certs as next', 'next.renewed_from', 'old.cert_id')
    .innerJoin('node_liveness as live', 'live.cert_id', 'next.cert_id')
    .select(['old.cert_id', 'old.expires_at'])
    .distinct()
    .where('old.status', '=', 'issued')
    .where('old.revoke_after', 'is', null)
    .where('old.expires_at', '>', writeSortable(now))
    .whereRef('live.last_heartbeat', '>', 'next.issued_at')
    .limit(MAX_AT_ONCE)
    .execute()
}

/**
 * Certificates that the node left: it uses another one of the same line of renewals. One that no heartbeat used was never
 * received, or never stored. One that was used is left when the node was silent with it for long enough.
 */
async function findLeft(db: Reader, parts: EnrollmentParts, now: Instant): Promise<readonly Ended[]> {
  const window = seconds(parts.activeWindow.seconds)
  const pause = 2n * seconds(parts.settings.renewalGraceSeconds)
  // Of two renewals at about the same time either response may be the lost one: the node uses the other.
  const [unusedBefore, usedBefore] = [now - pause, now - (pause > window ? pause : window)]
  const { rows } = await sql<Ended>`
    with recursive used(cert_id, node_public_key, place) as (
      select own.cert_id, own.node_public_key,
        row_number() over (partition by own.node_public_key order by live.last_heartbeat desc, own.issued_at desc)
      from node_liveness live join issued_certs own on own.cert_id = live.cert_id
      where own.status = 'issued' and own.revoke_after is null
        and live.last_heartbeat > own.issued_at and live.last_heartbeat > ${writeSortable(now - window)}),
    pairs(cert_id, expires_at, own_id) as (
      select left_one.cert_id, left_one.expires_at, used.cert_id
      from issued_certs left_one
      join node_liveness seen on seen.cert_id = left_one.cert_id
      join used on used.node_public_key = left_one.node_public_key and used.place = 1
      where left_one.status = 'issued' and left_one.revoke_after is null and left_one.expires_at > ${writeSortable(now)}
        and used.cert_id <> left_one.cert_id and used.cert_id <> coalesce(left_one.renewed_from, '')
        and ((seen.last_heartbeat <= left_one.issued_at and left_one.issued_at < ${writeSortable(unusedBefore)})
          or seen.last_heartbeat < ${writeSortable(usedBefore)})),
    line(start_id, cert_id) as (
      select cert_id, cert_id from pairs union select own_id, own_id from pairs
      union select line.start_id, renewed.renewed_from from line
        join issued_certs renewed on renewed.cert_id = line.cert_id where renewed.renewed_from is not null),
    roots(start_id, root_id) as (
      select line.start_id, line.cert_id from line left join issued_certs at on at.cert_id = line.cert_id
      where at.renewed_from is null)
    select distinct pairs.cert_id, pairs.expires_at from pairs
    join roots mine on mine.start_id = pairs.cert_id
    join roots other on other.start_id = pairs.own_id and other.root_id = mine.root_id
    where not exists (select 1 from line where line.start_id = pairs.cert_id and line.cert_id = pairs.own_id)
    limit ${MAX_AT_ONCE}`.execute(db)
  return rows
}
