import { currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { addEvents, useAuditPartitionsOf } from '../../audit/audit-partitions.suite.ts'
import { listEventsOf } from '../../audit/insert.ts'
import { AUDIT } from '../../database/partitions/audit-partitions.ts'
import { entryRow, usePartitionsOf } from '../../database/partitions/evidence-partitions.suite.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { makeRoom, openRoom } from '../../database/partitions/layout.ts'
import { useOpenedDatabases } from '../../database/partitions/opened-databases.suite.ts'
import type { Query } from '../../database/database.ts'
import { LOCKS_OF_PARTITION, checkLocks, compareLocks } from './check-tables.ts'

const isPostgres = currentBackend() === 'postgres'
const SIZE = 100

const { openNew } = useOpenedDatabases()

const DEFAULTS = {
  auditPartitions: 0,
  evidencePartitions: 0,
  locksPerTransaction: 64,
  connections: 100,
  preparedTransactions: 0,
}

describe('the check of locks', () => {
  it('warns when partitions need more than the server has, with a value for twice as many', () => {
    expect(compareLocks(DEFAULTS).status).toBe('good')
    expect(compareLocks({ ...DEFAULTS, auditPartitions: 5 }).status).toBe('good')
    expect(compareLocks({ ...DEFAULTS, auditPartitions: 6 })).toMatchObject({
      check: 'database-locks',
      status: 'warn',
      found: '6 partitions of audit events, 0 of evidence; max_locks_per_transaction is 64',
      fix: expect.stringContaining('max_locks_per_transaction = 144,'),
    })
    expect(compareLocks({ ...DEFAULTS, auditPartitions: 6, locksPerTransaction: 144 }).status).toBe('good')
    expect(compareLocks({ ...DEFAULTS, auditPartitions: 12, locksPerTransaction: 144 }).status).toBe('good')
    expect(compareLocks({ ...DEFAULTS, auditPartitions: 6, preparedTransactions: 20 }).status).toBe('good')
    expect(compareLocks({ ...DEFAULTS, evidencePartitions: 5 }).status).toBe('warn')
  })

  it('reads the partitions and the settings of the server', async () => {
    const database = await openNew()
    if (isPostgres) {
      await useAuditPartitionsOf(database, SIZE)
      await database.write((tx) => makeRoom(tx, AUDIT, { from: 2, through: 2 * SIZE - 1 }))
    }
    const findings = await checkLocks(database)
    expect(findings.map(({ found }) => found)).toEqual(
      isPostgres ? ['2 partitions of audit events, 0 of evidence'] : [],
    )
  })

  it.runIf(isPostgres)('knows how many locks a query takes for each partition', async () => {
    const database = await openNew()
    await useAuditPartitionsOf(database, SIZE)
    await usePartitionsOf(database, SIZE)
    const count = async (work: (query: Query) => Promise<unknown>): Promise<number> =>
      database.write(async ({ query }) => {
        await work(query)
        const { rows } = await sql<{ locks: number }>`select count(distinct relation) as locks from pg_locks
          where pid = pg_backend_pid() and locktype = 'relation'`.execute(query)
        return Number(rows[0]?.locks)
      })
    // From the second partition on an entry is compared with those before.
    const locksWith = async (partitions: number) => {
      const through = partitions * SIZE - 1
      for (const set of [AUDIT, EVIDENCE]) {
        await database.write((tx) => makeRoom(tx, set, { from: 2, through }))
        await database.write((tx) => openRoom(tx, set))
      }
      return {
        audit: await count((query) => listEventsOf(query, ['cert-1'], { before: undefined, limit: 5 })),
        evidence: await count((query) => query.insertInto('evidence_entries').values(entryRow(through)).execute()),
      }
    }
    await addEvents(database, 1)
    const [two, four] = [await locksWith(2), await locksWith(4)]
    const each = { audit: (four.audit - two.audit) / 2, evidence: (four.evidence - two.evidence) / 2 }
    expect(each.audit).toBeLessThanOrEqual(LOCKS_OF_PARTITION.audit)
    expect(each.evidence).toBeLessThanOrEqual(LOCKS_OF_PARTITION.evidence)
    // Not far too many: the value to set would be one that no server needs.
    expect(each.audit).toBeGreaterThan(LOCKS_OF_PARTITION.audit - 4)
    expect(each.evidence).toBeGreaterThan(LOCKS_OF_PARTITION.evidence - 4)
  })
})
