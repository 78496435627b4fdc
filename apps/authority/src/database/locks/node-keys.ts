import { sql } from 'kysely'
import type { Database, Tx } from '../database.ts'

/**
 * A node key as a lock of its own: whoever issues a certificate for it shares the lock, whoever revokes it as
 * compromised takes it alone. Without it a certificate could be issued in the moment its key is burnt, and would stand
 * in no list. Held to the end of the transaction; SQLite has one writer and needs none.
 */
export const SHARE_NODE_KEYS =
  'select pg_advisory_xact_lock_shared(hashtextextended(k, 77)) from (select distinct k from unnest($1::text[]) k order by k) keys'

export async function shareLockNodeKey(database: Database, tx: Tx, node_public_key: string): Promise<void> {
  if (database.engine === 'postgres')
    await sql`select pg_advisory_xact_lock_shared(hashtextextended(${node_public_key}, 77))`.execute(tx)
}

/** Takes keys alone, in one statement and in order, so that two takers cannot wait for each other. */
export const LOCK_NODE_KEYS =
  'select pg_advisory_xact_lock(hashtextextended(k, 77)) from (select distinct k from unnest($1::text[]) k order by k) keys'

export async function lockNodeKeys(database: Database, tx: Tx, keys: readonly string[]): Promise<void> {
  if (database.engine !== 'postgres' || keys.length === 0) return
  await sql`select pg_advisory_xact_lock(hashtextextended(k, 77)) from (select distinct k from unnest(${[...keys]}::text[]) k order by k) keys`.execute(
    tx,
  )
}
