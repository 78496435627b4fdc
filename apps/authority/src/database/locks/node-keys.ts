import type { Statement, Transaction } from '../database.ts'

// A node key is a lock: issuing a certificate for it shares the lock, revoking it as compromised takes it exclusively.
// Without the lock a certificate could be issued while its key is revoked, and no list would contain it. SQLite has one
// writer and needs no lock.
const locking = (name: string, lock: string): Statement<readonly string[], unknown> => ({
  name,
  postgres: {
    // Keys in order, so that two transactions cannot wait for each other.
    text: `select ${lock}(hashtextextended(k, 77)) from (select distinct k from unnest($1::text[]) k order by k) keys`,
    values: (keys) => [keys],
  },
  sqlite: () => [],
})

export const SHARE_NODE_KEYS = locking('share-node-keys', 'pg_advisory_xact_lock_shared')
export const LOCK_NODE_KEYS = locking('lock-node-keys', 'pg_advisory_xact_lock')

/** Locks keys exclusively until the transaction ends. */
export async function lockNodeKeys(tx: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await tx.run(LOCK_NODE_KEYS, keys)
}
