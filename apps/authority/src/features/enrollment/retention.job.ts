import { DAY, HOUR, writeSortable } from '@chancery/protocol'
import { INVITES_KEPT } from '../../database/sizes/table-ends.ts'
import type { EnrollmentParts } from './parts.ts'
import { removePresented } from './queries/presented.ts'

/** Rows per statement: few enough that joins and heartbeats are hardly delayed. */
const ROWS = 5000

/**
 * Removes invites 30 days after their end, presented certificates that ended or were adopted, and liveness of certificates that ended more than a day ago. Uses
 * the purge clock, which continues over restarts, so a clock that is ahead removes nothing early.
 */
export async function removeEnded(parts: EnrollmentParts, signal: AbortSignal): Promise<void> {
  const now = parts.purgeClock.daily.now()
  const invites = writeSortable(now - INVITES_KEPT)
  while (!signal.aborted && (await removeInvites(parts, invites)) === ROWS);
  const presented = writeSortable(now - HOUR)
  while (!signal.aborted && (await parts.database.write((tx) => removePresented(tx, presented))) === ROWS);
  const liveness = writeSortable(now - DAY)
  while (!signal.aborted && (await removeLiveness(parts, liveness)) === ROWS);
}

async function removeInvites({ database }: EnrollmentParts, cutoff: string): Promise<number> {
  const { numDeletedRows } = await database.write(({ query }) => {
    const ended = query.selectFrom('invite_tokens').select('token_digest').where('expires_at', '<', cutoff).limit(ROWS)
    return query.deleteFrom('invite_tokens').where('token_digest', 'in', ended).executeTakeFirstOrThrow()
  })
  return Number(numDeletedRows)
}

async function removeLiveness({ database }: EnrollmentParts, cutoff: string): Promise<number> {
  const { numDeletedRows } = await database.write(({ query }) => {
    const ended = query
      .selectFrom('node_liveness as l')
      .innerJoin('issued_certs as c', 'c.cert_id', 'l.cert_id')
      .select('l.cert_id')
      .where('l.last_heartbeat', '<', cutoff)
      .where('c.expires_at', '<', cutoff)
      .limit(ROWS)
    return query.deleteFrom('node_liveness').where('cert_id', 'in', ended).executeTakeFirstOrThrow()
  })
  return Number(numDeletedRows)
}
