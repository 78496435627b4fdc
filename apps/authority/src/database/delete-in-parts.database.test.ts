import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { coreJobs } from '../startup/core-jobs.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import type { Database } from './database.ts'
import { deleteInParts } from './large-tables.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const { signal } = new AbortController()

/** No job removes windows of this time. */
const FUTURE = 4_000_000_000
const isFirstSeven = sql`window_start >= ${FUTURE} and window_start < ${FUTURE + 7}`

async function seed(count: number, first: number): Promise<void> {
  const windows = Array.from({ length: count }, (_, index) => ({
    bucket: `b-${index}`,
    window_start: first + index,
    hits: 1,
  }))
  await rowsOf(na.core.database).deleteFrom('rate_limit_windows').execute()
  for (let at = 0; at < count; at += 1000)
    await rowsOf(na.core.database)
      .insertInto('rate_limit_windows')
      .values(windows.slice(at, at + 1000))
      .execute()
}

async function left(): Promise<number> {
  const rows = await na.core.database.read.selectFrom('rate_limit_windows').select('bucket').execute()
  return rows.length
}

/** Notes how many rows each transaction deletes. */
function watched(): { readonly database: Database; readonly sizes: number[] } {
  const sizes: number[] = []
  const { database } = na.core
  const write: Database['write'] = async (work, options) => {
    const deleted = await database.write(work, options)
    sizes.push(Number(deleted))
    return deleted
  }
  return { database: { ...database, write }, sizes }
}

it('deletes the rows that fit, a bounded number with each statement', async () => {
  await seed(10, FUTURE)
  const { database, sizes } = watched()
  await deleteInParts(database, 'rate_limit_windows', isFirstSeven, signal, 3)
  expect(sizes).toEqual([3, 3, 1])
  expect(await left()).toBe(3)
})

it('stops between two statements', async () => {
  await seed(10, FUTURE)
  const { database, sizes } = watched()
  await deleteInParts(database, 'rate_limit_windows', isFirstSeven, AbortSignal.abort(), 3)
  expect(sizes).toEqual([])
})

it('the windows of a large fleet are removed in several statements', async () => {
  await seed(12_000, 0)
  const { database, sizes } = watched()
  const purge = coreJobs({ ...na.core, database }, na.settings).find(({ name }) => name === 'purge-limiter-windows')
  await purge?.run(signal)
  // The job of the authority itself may have removed some of them.
  expect(sizes.length).toBeGreaterThan(0)
  for (const size of sizes) expect(size).toBeLessThanOrEqual(5000)
  expect(await left()).toBe(0)
})
