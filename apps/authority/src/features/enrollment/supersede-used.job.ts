import { type Instant, seconds, writeSortable } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import type { EnrollmentParts } from './parts.ts'
import { graceEnd } from './renew.ts'
import { supersede } from './queries/renewals.ts'

const MAX_AT_ONCE = 1000

/**
 * For certificates renewed across a key succession: the predecessor ends, after the grace time, when its successor was
 * used for a heartbeat. A node that could not use the successor keeps its certificate. A successor that no heartbeat
 * used ends while the node sends heartbeats and has another of the same predecessor: its response was lost.
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
  await database.write(async (tx) => {
    const ended = [...(await findUsed(tx.query, now)), ...(await findLost(tx.query, parts, now))]
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

/** Certificates whose response was lost. */
function findLost(db: Reader, parts: EnrollmentParts, now: Instant): Promise<Ended[]> {
  const grace = seconds(parts.settings.renewalGraceSeconds)
  return (
    db
      .selectFrom('issued_certs as lost')
      .innerJoin('issued_certs as next', 'next.renewed_from', 'lost.renewed_from')
      .leftJoin('node_liveness as unused', 'unused.cert_id', 'lost.cert_id')
      .select(['lost.cert_id', 'lost.expires_at'])
      .distinct()
      .where('lost.status', '=', 'issued')
      .where('lost.revoke_after', 'is', null)
      .where('lost.expires_at', '>', writeSortable(now))
      .whereRef('next.cert_id', '!=', 'lost.cert_id')
      // Of two renewals at about the same time either response may be the lost one: the node uses the other.
      .where('lost.issued_at', '<', writeSortable(now - 2n * grace))
      .where((eb) =>
        eb.or([eb('unused.last_heartbeat', 'is', null), eb('unused.last_heartbeat', '<=', eb.ref('lost.issued_at'))]),
      )
      // The node has the other one: it used it, or renewed it and may be further by now.
      .where((eb) =>
        eb.or([
          eb.exists(
            eb
              .selectFrom('node_liveness as live')
              .select('live.cert_id')
              .whereRef('live.cert_id', '=', 'next.cert_id')
              .whereRef('live.last_heartbeat', '>', 'next.issued_at'),
          ),
          eb.exists(
            eb
              .selectFrom('issued_certs as child')
              .select('child.cert_id')
              .whereRef('child.renewed_from', '=', 'next.cert_id'),
          ),
        ]),
      )
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('issued_certs as own')
            .innerJoin('node_liveness as last', 'last.cert_id', 'own.cert_id')
            .select('own.cert_id')
            .whereRef('own.node_public_key', '=', 'lost.node_public_key')
            .where('last.last_heartbeat', '>', writeSortable(now - seconds(parts.activeWindow.seconds))),
        ),
      )
      .limit(MAX_AT_ONCE)
      .execute()
  )
}
