import { currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import type { Database } from '../database.ts'
import { AUDIT } from './audit-partitions.ts'
import { readLayout } from './layout.ts'
import { useOpenedDatabases } from './opened-databases.suite.ts'
import { partitionTables } from './keep-partitions.ts'

const SIZE = 100

const { openNew } = useOpenedDatabases()

it.runIf(currentBackend() === 'postgres')(
  'a run ends well when another one has partitioned the tables before its check of the constraints',
  async () => {
    const database = await openNew()
    await sql`insert into audit_events (event_id, event_type, event_json, created_at) values ('e', 't', '{}', '')`.execute(
      database.read,
    )
    let isFirst = true
    const late: Database = {
      ...database,
      write: async (work, options) => {
        // Only the check reads all rows without a limit of time.
        if (options?.unlimited === true && isFirst) {
          isFirst = false
          expect(await partitionTables(database, AUDIT, { size: SIZE })).toBe(true)
        }
        return database.write(work, options)
      },
    }
    expect(await partitionTables(late, AUDIT, { size: SIZE })).toBe(true)
    expect(isFirst).toBe(false)
    expect((await readLayout(database.read, AUDIT))?.partitions).toHaveLength(1)
  },
)
