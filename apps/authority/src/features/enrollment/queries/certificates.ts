import { type Instant, type RevocationReason, seconds, writeSortable } from '@chancery/protocol'
import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Core } from '../../../core.ts'
import type { Reader, Transaction } from '../../../database/database.ts'
import { countOf, isLargeTable } from '../../../database/large-tables.ts'
import { countLiveNodes } from '../../../database/liveness-counts.ts'

/** Active node keys: by a counter in a large network, else by reading all rows. */
export async function countActiveNodes(db: Reader, moment: ActiveMoment): Promise<number> {
  if (!(await isLargeTable(db, 'node_liveness'))) return countByRows(db, moment)
  return countLiveNodes(db, moment)
}

/**
 * Reads all liveness rows. Revoked certificates have none, superseded ones are marked in theirs. Distinct in a subquery:
 * databases hash that, and sort for a count of distinct values.
 */
export function countByRows(db: Reader, moment: ActiveMoment): Promise<number> {
  const keys = db
    .selectFrom('node_liveness')
    .select((eb) => eb.fn.coalesce('node_public_key', 'cert_id').as('node'))
    .distinct()
    .where('last_heartbeat', '>', moment.since)
    .where((eb) => eb.or([eb('revoke_after', 'is', null), eb('revoke_after', '>', moment.now)]))
    .as('keys')
  return countOf(db.selectFrom(keys))
}

/** Certificates in use that end within a span. Superseded ones do not count, because their successors do. */
export function countExpiring(db: Reader, after: Instant, until: Instant): Promise<number> {
  return countOf(
    db
      .selectFrom('issued_certs')
      .where('status', '=', 'issued')
      .where('revoke_after', 'is', null)
      .where('expires_at', '>', writeSortable(after))
      .where('expires_at', '<=', writeSortable(until)),
  )
}

/** The present, and the time after which the last heartbeat of an active node was, as stored texts. */
export interface ActiveMoment {
  readonly now: string
  readonly since: string
}

export function activeMoment({ clock, activeWindow }: Pick<Core, 'activeWindow' | 'clock'>): ActiveMoment {
  const now = clock.now()
  return { now: writeSortable(now), since: writeSortable(now - seconds(activeWindow.seconds)) }
}

export interface RosterRow {
  readonly cert_id: string
  readonly node_public_key: string
  readonly roles_json: string
  readonly expires_at: string
  readonly heartbeat_status: string
  readonly last_heartbeat: string
  readonly remote_addr: string
  readonly label: string | null
}

/** One page of active nodes by certificate id. A predecessor is left out while its successor is there. */
export function listActiveNodes(
  db: Reader,
  moment: ActiveMoment,
  after: string,
  limit: number,
): Promise<readonly RosterRow[]> {
  return db
    .selectFrom('node_liveness as l')
    .innerJoin('issued_certs as c', 'c.cert_id', 'l.cert_id')
    .leftJoin('node_labels as n', 'n.node_public_key', 'c.node_public_key')
    .select([
      'l.cert_id',
      'c.node_public_key',
      'c.roles_json',
      'c.expires_at',
      'l.heartbeat_status',
      'l.last_heartbeat',
      'l.remote_addr',
      'n.label',
    ])
    .where('l.cert_id', '>', after)
    .where('l.last_heartbeat', '>', moment.since)
    .where((eb) =>
      eb.or([
        eb('l.revoke_after', 'is', null),
        eb.and([
          eb('l.revoke_after', '>', moment.now),
          eb.not(eb.exists(activeSuccessor(eb.ref('l.cert_id'), moment))),
        ]),
      ]),
    )
    .orderBy('l.cert_id')
    .limit(limit)
    .execute()
}

/** The certificates that followed one and are active themselves. */
function activeSuccessor(cert_id: Expression<string>, { now, since }: ActiveMoment): RawBuilder<unknown> {
  return sql`(select 1 from issued_certs s join node_liveness sl on sl.cert_id = s.cert_id
    where s.renewed_from = ${cert_id} and sl.last_heartbeat > ${since}
      and (sl.revoke_after is null or sl.revoke_after > ${now}))`
}

/** The columns of a certificate that a revocation needs. */
export interface RevocableCertificate {
  readonly cert_id: string
  readonly node_public_key: string
  readonly expires_at: string
  readonly status: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

const REVOCABLE = ['cert_id', 'node_public_key', 'expires_at', 'status', 'revoked_at', 'revocation_reason'] as const

export async function listCertificates(
  tx: Reader,
  cert_ids: readonly string[],
): Promise<readonly RevocableCertificate[]> {
  return tx.selectFrom('issued_certs').select(REVOCABLE).where('cert_id', 'in', cert_ids).orderBy('cert_id').execute()
}

/** Unexpired, unrevoked certificates of these keys. */
export async function listOtherCertificates(
  tx: Reader,
  keys: readonly string[],
  now: string,
): Promise<readonly RevocableCertificate[]> {
  return tx
    .selectFrom('issued_certs')
    .select(REVOCABLE)
    .where('node_public_key', 'in', keys)
    .where('status', '=', 'issued')
    .where('expires_at', '>', now)
    .orderBy('cert_id')
    .execute()
}

/** Superseded certificates that are due for the list, oldest first. */
export async function listDueForListing(
  tx: Reader,
  now: string,
  limit: number,
): Promise<readonly RevocableCertificate[]> {
  return tx
    .selectFrom('issued_certs')
    .select(REVOCABLE)
    .where('list_after', 'is not', null)
    .where('list_after', '<=', now)
    .orderBy('list_after')
    .limit(limit)
    .execute()
}

/** Marks certificates as revoked. Their liveness is removed, too: a revoked node is not counted. */
export async function markRevoked(
  tx: Transaction,
  cert_ids: readonly string[],
  revoked_at: string,
  reason: RevocationReason,
): Promise<void> {
  for (let at = 0; at < cert_ids.length; at += 1000) {
    const chunk = cert_ids.slice(at, at + 1000)
    await tx.query
      .updateTable('issued_certs')
      .set({ status: 'revoked', revoked_at, revocation_reason: reason, list_after: null })
      .where('cert_id', 'in', chunk)
      .execute()
    await tx.query.deleteFrom('node_liveness').where('cert_id', 'in', chunk).execute()
  }
}

export async function raiseReason(tx: Transaction, cert_id: string): Promise<void> {
  await tx.query
    .updateTable('issued_certs')
    .set({ revocation_reason: 'key_compromise' })
    .where('cert_id', '=', cert_id)
    .execute()
}
