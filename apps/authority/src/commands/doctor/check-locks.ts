import { type Finding, good, warn } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { AUDIT } from '../../database/partitions/audit-partitions.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { readLayout } from '../../database/partitions/layout.ts'
import { readServerSettings } from '../../database/postgres/server-settings.ts'

/** Locks of one query for each partition: the tables that it joins, with all their indexes. */
export const LOCKS_OF_PARTITION = { audit: 12, evidence: 15 }

const SETTINGS = ['max_locks_per_transaction', 'max_connections', 'max_prepared_transactions'] as const

export interface LockFacts {
  readonly auditPartitions: number
  readonly evidencePartitions: number
  /** Settings of the server. */
  readonly locksPerTransaction: number
  readonly connections: number
  readonly preparedTransactions: number
}

/** Checks that PostgreSQL has locks for all partitions when every connection queries them at once. */
export async function checkLocks(database: Database): Promise<readonly Finding[]> {
  if (database.engine === 'sqlite') return []
  const [audit, evidence] = [await readLayout(database.read, AUDIT), await readLayout(database.read, EVIDENCE)]
  const found = await readServerSettings(database, SETTINGS)
  const read = (name: (typeof SETTINGS)[number]): number => Number(found.get(name) ?? 0)
  return [
    compareLocks({
      auditPartitions: audit?.partitions.length ?? 0,
      evidencePartitions: evidence?.partitions.length ?? 0,
      locksPerTransaction: read('max_locks_per_transaction'),
      connections: read('max_connections'),
      preparedTransactions: read('max_prepared_transactions'),
    }),
  ]
}

/** The server shares all its locks among its connections. */
export function compareLocks(facts: LockFacts): Finding {
  const { auditPartitions, evidencePartitions, locksPerTransaction, connections, preparedTransactions } = facts
  const owners = connections + preparedTransactions
  const query = Math.max(auditPartitions * LOCKS_OF_PARTITION.audit, evidencePartitions * LOCKS_OF_PARTITION.evidence)
  const needed = query * connections
  const partitions = `${auditPartitions} partitions of audit events, ${evidencePartitions} of evidence`
  if (needed <= locksPerTransaction * owners) return good('database-locks', partitions)
  // For twice as many partitions: a change needs a restart of the server.
  const value = Math.ceil((2 * needed) / owners)
  return warn(
    'database-locks',
    `${partitions}; max_locks_per_transaction is ${locksPerTransaction}`,
    `On the server: alter system set max_locks_per_transaction = ${value}, then restart it, standbys first.`,
    { effect: 'Queries fail with «out of shared memory» when many run at once.' },
  )
}
