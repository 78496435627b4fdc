import { sql } from 'kysely'
import type { Database, Transaction } from '../database.ts'

/** No other transaction creates or drops tables until this one ends. */
export async function lockMigrations(database: Database, tx: Transaction): Promise<void> {
  // Held until the transaction ends, so a pooler in between does not matter. SQLite's BEGIN IMMEDIATE is the lock.
  if (database.engine !== 'postgres') return
  // A large table takes longer than the statement timeout of requests, and so does the wait for another instance that
  // migrates it. A change of a table still has a short lock timeout, because all users of the table wait for it, and
  // requests time out after 5 s.
  await sql`set local statement_timeout = 0`.execute(tx.query)
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx.query)
  await sql`set local lock_timeout = 0`.execute(tx.query)
  await sql`select pg_advisory_xact_lock(7239471002)`.execute(tx.query)
  await sql`set local lock_timeout = '2s'`.execute(tx.query)
}
