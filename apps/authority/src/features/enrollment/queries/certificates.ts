import { setImmediate as nextTurn } from 'node:timers/promises'
import { LIMITS } from '@chancery/contract'
import { seconds, writeSortable } from '@chancery/protocol'
import type { Instant, RevocationReason } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Expression, RawBuilder } from 'kysely'
import type { Database, Reader, Transaction } from '../../../database/database.ts'
import { isLargeTable } from '../../../database/large-table.ts'

/** Certificates that SQLite reads in one turn of the thread that serves requests. */
const READ_ROWS = 2000

/**
 * Keys with a heartbeat within the window. Revoked certificates have no liveness row, superseded ones are marked in
 * theirs. Distinct in a subquery: databases hash that, and sort for a count of distinct values.
 */
export async function countActiveNodes(
  { engine, read: db }: Pick<Database, 'engine' | 'read'>,
  now: Instant,
  { small, readRows = READ_ROWS }: { readonly small?: number; readonly readRows?: number } = {},
): Promise<number> {
  if (engine === 'sqlite' && (await isLargeTable(db, 'node_liveness', small))) return countInTurns(db, now, readRows)
  const keys = db
    .selectFrom('node_liveness')
    .select((eb) => eb.fn.coalesce('node_public_key', 'cert_id').as('node'))
    .distinct()
    .where('last_heartbeat', '>', activeSince(now))
    .where((eb) => eb.or([eb('revoke_after', 'is', null), eb('revoke_after', '>', writeSortable(now))]))
    .as('keys')
  const row = await db
    .selectFrom(keys)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** One statement over a million rows takes a second, and meanwhile SQLite answers nothing. Ranges of keys do not overlap. */
async function countInTurns(db: Reader, now: Instant, readRows: number): Promise<number> {
  let total = 0
  for (let after: string | undefined = ''; after !== undefined;) {
    const until: string | undefined = await findKeyAfter(db, after, readRows)
    const range = until === undefined ? sql`` : sql`and c.node_public_key <= ${until}`
    const { rows } = await sql<{ readonly count: number }>`
      select count(distinct c.node_public_key) as count from issued_certs c join node_liveness l on l.cert_id = c.cert_id
      where c.node_public_key > ${after} ${range} and l.last_heartbeat > ${activeSince(now)}
        and (l.revoke_after is null or l.revoke_after > ${writeSortable(now)})`.execute(db)
    total += Number(rows[0]?.count ?? 0)
    after = until
    if (after !== undefined) await nextTurn()
  }
  return total
}

/** The key of the certificate so many places after this key. Undefined near the end. */
async function findKeyAfter(db: Reader, after: string, places: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('issued_certs')
    .select('node_public_key')
    .where('node_public_key', '>', after)
    .orderBy('node_public_key')
    .offset(places - 1)
    .limit(1)
    .executeTakeFirst()
  return row?.node_public_key
}

/** Certificates in use that end within a span. Superseded ones do not count, because their successors do. */
export async function countExpiring(db: Reader, after: Instant, until: Instant): Promise<number> {
  const row = await db
    .selectFrom('issued_certs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('status', '=', 'issued')
    .where('revoke_after', 'is', null)
    .where('expires_at', '>', writeSortable(after))
    .where('expires_at', '<=', writeSortable(until))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export function activeSince(now: Instant): string {
  return writeSortable(now - seconds(LIMITS.activeNodeWindowSeconds))
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
export function listActiveNodes(db: Reader, now: Instant, after: string, limit: number): Promise<readonly RosterRow[]> {
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
    .where('l.last_heartbeat', '>', activeSince(now))
    .where((eb) =>
      eb.or([
        eb('l.revoke_after', 'is', null),
        eb.and([
          eb('l.revoke_after', '>', writeSortable(now)),
          eb.not(eb.exists(activeSuccessor(eb.ref('l.cert_id'), now))),
        ]),
      ]),
    )
    .orderBy('l.cert_id')
    .limit(limit)
    .execute()
}

/** The certificates that followed one and are active themselves. */
function activeSuccessor(cert_id: Expression<string>, now: Instant): RawBuilder<unknown> {
  return sql`(select 1 from issued_certs s join node_liveness sl on sl.cert_id = s.cert_id
    where s.renewed_from = ${cert_id} and sl.last_heartbeat > ${activeSince(now)}
      and (sl.revoke_after is null or sl.revoke_after > ${writeSortable(now)}))`
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
