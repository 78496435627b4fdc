import { HOUR, type Instant, readInstant } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader } from '../../../database/database.ts'
import type { Moment } from '../mark-silent.job.ts'
import { type BoundedCount, IS_NEWEST } from './counts.ts'

/** Certificates read for the count. Those that end first are read first. */
const BOUND = 1000
/** A life is not counted as longer than this: the client library renews in the last 24 hours at the earliest. */
const MAX_LIFE = 72n * HOUR

interface Life {
  readonly issued_at: string
  readonly expires_at: string
}

/** Counts nodes that send heartbeats and did not renew although less than a fifth of the life is left. */
export async function countLateRenewals(db: Reader, now: Instant, moment: Moment): Promise<BoundedCount> {
  const { rows } = await sql<Life>`
    select c.issued_at, c.expires_at from (
      select cert_id, node_public_key, issued_at, expires_at from issued_certs
      where expires_at > ${moment.now} and expires_at <= ${moment.endsSoonUntil}
        and status = 'issued' and revoke_after is null
      order by expires_at limit ${BOUND + 1}) c
    join node_liveness l on l.cert_id = c.cert_id
    where l.last_heartbeat > ${moment.silentUntil} and ${IS_NEWEST}`.execute(db)
  const count = rows.filter((row) => isLate(row, now)).length
  return { count: Math.min(count, BOUND), more: count > BOUND }
}

function isLate({ issued_at, expires_at }: Life, now: Instant): boolean {
  const [from, until] = [readInstant(issued_at), readInstant(expires_at)]
  if (from === undefined || until === undefined) return true
  const life = until - from
  return (until - now) * 5n < (life < MAX_LIFE ? life : MAX_LIFE)
}
