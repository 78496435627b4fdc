import { systemClock } from '@chancery/service-kit'
import { type TestDatabase, createTestDatabase } from '@chancery/testkit'
import pg from 'pg'
import type { Database } from '../database.ts'
import { locationOf } from '../database.suite.ts'
import { migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'
import { readVersions } from '../locks/versions.ts'

/** A migrated database, and a connection to it that the pool does not know. */
export interface OpenedPostgres {
  readonly testDatabase: TestDatabase
  readonly database: Database
  readonly outside: pg.Client
  policyVersion(): Promise<number | undefined>
  close(): Promise<void>
}

export async function openTestPostgres(): Promise<OpenedPostgres> {
  const testDatabase = await createTestDatabase('postgres')
  const database = openDatabase(locationOf(testDatabase))
  await migrate(database, () => systemClock.now())
  const outside = new pg.Client({ connectionString: testDatabase.settings['DATABASE_URL'] ?? '' })
  await outside.connect()
  return {
    testDatabase,
    database,
    outside,
    policyVersion: async () => (await readVersions(database)).versions.get('policy'),
    async close() {
      await closeSoon(database)
      await outside.end()
      await testDatabase.drop()
    },
  }
}

/** A pool that lost track of a connection waits for it permanently. */
export function closeSoon(database: Database): Promise<'closed' | 'hangs'> {
  const hangs = new Promise<'hangs'>((resolve) => {
    setTimeout(() => resolve('hangs'), 10_000)
  })
  return Promise.race([database.close().then(() => 'closed' as const), hangs])
}
