import { sql } from 'kysely'
import type { Database, Transaction } from '../database.ts'

/** Nobody else makes or drops tables until the transaction ends. */
export async function lockMigrations(database: Database, tx: Transaction): Promise<void> {
  // Held until the transaction ends, so a pooler in between does not matter. SQLite's BEGIN IMMEDIATE is the lock.
  if (database.engine !== 'postgres') return
  // A large table takes longer than any request may, and so does the wait for another instance that migrates it. What
  // changes a table still gives up soon: everybody who uses the table waits behind it, and requests give up after 5 s.
  await sql`set local statement_timeout = 0`.execute(tx.query)
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx.query)
  await sql`set local lock_timeout = 0`.execute(tx.query)
  await sql`select pg_advisory_xact_lock(7239471002)`.execute(tx.query)
  await sql`set local lock_timeout = '2s'`.execute(tx.query)
}
