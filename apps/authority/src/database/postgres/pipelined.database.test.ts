import { currentBackend } from '@chancery/testkit'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database, Statement } from '../database.ts'
import { type OpenedPostgres, openTestPostgres } from './postgres.suite.ts'

/** Waits until a statement waits for a lock. */
async function isBlocked(outside: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await outside.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    if (rows.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe.runIf(currentBackend() === 'postgres')('pipelined transactions', () => {
  let opened: OpenedPostgres
  let database: Database
  let outside: pg.Client
  beforeAll(async () => {
    opened = await openTestPostgres()
    ;({ database, outside } = opened)
  })
  afterAll(() => opened.close())
  const policyVersion = (): Promise<number | undefined> => opened.policyVersion()

  /** Locks the row of a domain, and reads its version. */
  const lockAndRead: readonly Statement<undefined, { readonly version: number }>[] = [
    {
      name: 'test-lock',
      postgres: { text: "select version from heads where name = 'policy' for update", values: () => [] },
      sqlite: () => [],
    },
    {
      name: 'test-read',
      postgres: { text: "select version from heads where name = 'policy'", values: () => [] },
      sqlite: () => [],
    },
  ]

  it('sends statements that start together with BEGIN, and each sees what the lock before it waited for', async () => {
    const before = Number(await policyVersion())
    await outside.query('begin')
    await outside.query("update heads set version = version + 1 where name = 'policy'")
    const read = database.write(
      async (tx) => {
        const [, [row] = []] = await Promise.all(lockAndRead.map((statement) => tx.run(statement, undefined)))
        await tx.raiseVersion('policy')
        return row?.version
      },
      { cachedPlans: true, pipelined: true },
    )
    await isBlocked(outside)
    await outside.query('commit')
    expect(await read).toBe(before + 1)
    expect(await policyVersion()).toBe(before + 2)
  })

  it('rolls a pipelined transaction back when one of its statements fails, and uses the connection again', async () => {
    const before = await policyVersion()
    const broken: Statement<undefined, never> = {
      name: 'test-broken',
      postgres: { text: 'select 1 / (select 0)', values: () => [] },
      sqlite: () => [],
    }
    const options = { cachedPlans: true, pipelined: true } as const
    const failing = database.write(async (tx) => {
      await tx.raiseVersion('policy')
      await Promise.all([...lockAndRead, broken].map((statement) => tx.run<undefined, unknown>(statement, undefined)))
    }, options)
    await expect(failing).rejects.toThrow('division by zero')
    expect(await policyVersion()).toBe(before)
    await database.write((tx) => tx.raiseVersion('policy'), options)
    expect(await policyVersion()).toBe(Number(before) + 1)
  })
})
