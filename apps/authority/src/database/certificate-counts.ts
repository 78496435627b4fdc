import { sql } from 'kysely'
import type { Database, Reader, Transaction } from './database.ts'

/** The row the others are added up in. */
const SUM = ''
const AT_ONCE = 5000

export interface CertificateCounts {
  /** Ever issued; certificates whose rows were removed count. */
  readonly issued: number
  /** Ever revoked; certificates whose rows were removed count. It never falls, so a rolled back database shows. */
  readonly revoked: number
  /** Stored and not revoked. */
  readonly tracked: number
}

/** Reads counters a few rows whatever the number of certificates. */
export async function readCertificateCounts(db: Reader): Promise<CertificateCounts> {
  const { rows } = await sql<Record<'issued' | 'revoked' | 'removed' | 'removed_revoked', number | null>>`
    select sum(issued) as issued, sum(revoked) as revoked, sum(removed) as removed,
      sum(removed_revoked) as removed_revoked from issued_counts`.execute(db)
  const [issued, revoked, removed, removedRevoked] = [
    Number(rows[0]?.issued ?? 0),
    Number(rows[0]?.revoked ?? 0),
    Number(rows[0]?.removed ?? 0),
    Number(rows[0]?.removed_revoked ?? 0),
  ]
  return { issued: issued + removed, revoked: revoked + removedRevoked, tracked: issued - revoked }
}

/** What the counters say and what is stored, of one moment, where they differ. Counts every row. */
export async function findMiscount(db: Reader): Promise<string | undefined> {
  const { rows } = await sql<Record<'stored' | 'stored_revoked' | 'counted' | 'counted_revoked', number>>`
    select count(*) as stored, coalesce(sum(case when status = 'revoked' then 1 else 0 end), 0) as stored_revoked,
      (select sum(issued) from issued_counts) as counted, (select sum(revoked) from issued_counts) as counted_revoked
    from issued_certs`.execute(db)
  const [stored, revoked, counted, countedRevoked] = [
    Number(rows[0]?.stored),
    Number(rows[0]?.stored_revoked),
    Number(rows[0]?.counted),
    Number(rows[0]?.counted_revoked),
  ]
  if (stored === counted && revoked === countedRevoked) return undefined
  return `${stored} stored, ${revoked} of them revoked; the counters say ${counted} and ${countedRevoked}`
}

/** In the transaction that deletes the rows, which the triggers count down. */
export async function noteRemoved(
  tx: Transaction,
  { certificates, revoked }: { readonly certificates: number; readonly revoked: number },
): Promise<void> {
  await tx.query
    .updateTable('issued_counts')
    .set({
      removed: sql<number>`removed + ${certificates}`,
      removed_revoked: sql<number>`removed_revoked + ${revoked}`,
    })
    .where('id', '=', SUM)
    .execute()
}

/** Adds up the rows that statements left on PostgreSQL; also those that a backup from there brought to SQLite. */
export async function foldCertificateCounts(database: Database, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const any = await database.read
      .selectFrom('issued_counts')
      .select('id')
      .where('id', '<>', SUM)
      .limit(1)
      .executeTakeFirst()
    if (any === undefined || !(await database.write((tx) => foldSome(database, tx)))) return
  }
}

/** Under the lock of the sum, so that two instances do not add the same rows; true when there may be more. */
async function foldSome(database: Database, tx: Transaction): Promise<boolean> {
  const sum = tx.query.selectFrom('issued_counts').select('id').where('id', '=', SUM)
  await (database.engine === 'postgres' ? sum.forUpdate() : sum).executeTakeFirstOrThrow()
  const some = await tx.query.selectFrom('issued_counts').selectAll().where('id', '<>', SUM).limit(AT_ONCE).execute()
  if (some.length === 0) return false
  const total = (name: 'issued' | 'revoked' | 'removed' | 'removed_revoked'): number =>
    some.reduce((all, row) => all + Number(row[name]), 0)
  await tx.query
    .deleteFrom('issued_counts')
    .where(
      'id',
      'in',
      some.map(({ id }) => id),
    )
    .execute()
  await tx.query
    .updateTable('issued_counts')
    .set({
      issued: sql<number>`issued + ${total('issued')}`,
      revoked: sql<number>`revoked + ${total('revoked')}`,
      removed: sql<number>`removed + ${total('removed')}`,
      removed_revoked: sql<number>`removed_revoked + ${total('removed_revoked')}`,
    })
    .where('id', '=', SUM)
    .execute()
  return some.length === AT_ONCE
}
