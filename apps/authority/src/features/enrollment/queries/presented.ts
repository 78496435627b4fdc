import { sql } from 'kysely'
import type { Reader, Transaction } from '../../../database/database.ts'
import { countUpTo } from '../../../database/large-tables.ts'
import type { Tables } from '../../../database/tables.ts'

export async function isPresented(db: Reader, cert_id: string): Promise<boolean> {
  const row = await db.selectFrom('presented_certs').select('cert_id').where('cert_id', '=', cert_id).executeTakeFirst()
  return row !== undefined
}

/** Counts no further than `limit`. */
export async function countPresented(db: Reader, source: string, limit: number): Promise<number> {
  return (await countUpTo(db, db.selectFrom('presented_certs').where('source', '=', source), limit)) ?? limit
}

export async function insertPresented(tx: Transaction, row: Tables['presented_certs']): Promise<void> {
  // Two certificates of one key wait for the lock; the same one twice is one row.
  await tx.query
    .insertInto('presented_certs')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Presented certificates that the database still lacks, and whose keys have no revoked certificate. */
export async function listPresented(db: Reader, now: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('presented_certs as p')
    .select('p.cert_json')
    .where('p.expires_at', '>', now)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('issued_certs as c').select('c.cert_id').whereRef('c.cert_id', '=', 'p.cert_id'))),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('issued_certs as c')
            .select('c.cert_id')
            .whereRef('c.node_public_key', '=', 'p.node_public_key')
            .where('c.revocation_reason', '<>', 'superseded'),
        ),
      ),
    )
    .orderBy('p.cert_id')
    .execute()
  return rows.map(({ cert_json }) => cert_json)
}

/** Those that wait for an operator, counted no further than `limit`. */
export async function countWaiting(db: Reader, now: string, limit: number): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    select count(*) as waiting from (
      select 1 from presented_certs p where p.expires_at > ${now}
        and not exists (select 1 from issued_certs c where c.cert_id = p.cert_id) limit ${limit}) as waiting_rows`.execute(
    db,
  )
  return Number(rows[0]?.waiting ?? 0)
}

const ROWS = 5000

/** Removes those that ended or that the database has again. Returns how many rows the statement removed. */
export async function removePresented(tx: Transaction, before: string): Promise<number> {
  const ended = tx.query
    .selectFrom('presented_certs as p')
    .select('p.cert_id')
    .where((eb) =>
      eb.or([
        eb('p.expires_at', '<', before),
        eb.exists(eb.selectFrom('issued_certs as c').select('c.cert_id').whereRef('c.cert_id', '=', 'p.cert_id')),
      ]),
    )
    .limit(ROWS)
  const { numDeletedRows } = await tx.query
    .deleteFrom('presented_certs')
    .where('cert_id', 'in', ended)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
