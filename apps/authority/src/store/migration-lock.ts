import { sql } from 'kysely'
import type { Store, Tx } from './database.ts'

/** Nobody else makes or drops tables until the transaction ends. */
export async function lockMigrations(store: Store, tx: Tx): Promise<void> {
  // Held until the transaction ends, so a pooler in between does not matter. SQLite's BEGIN IMMEDIATE is the lock.
  if (store.backend === 'postgres') await sql`select pg_advisory_xact_lock(7239471002)`.execute(tx)
}
