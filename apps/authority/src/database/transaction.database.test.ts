import { CompiledQuery, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import type { DatabaseConnection, Driver } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { LockTimeoutError, UnknownOutcomeError } from './errors.ts'
import type { Transaction } from './database.ts'
import type { Tables } from './tables.ts'
import { transactOn } from './transaction.ts'

class Again extends Error {}
class Lost extends Error {}
class Refused extends Error {}

/** What the database says to a statement: nothing, or an error. */
type Reply = (statement: string) => Error | undefined

/** A driver that records its calls and fails as the test sets. */
class ScriptedDriver implements Driver {
  readonly told: string[] = []
  readonly #reply: Reply
  held = 0

  constructor(reply: Reply) {
    this.#reply = reply
  }

  async init(): Promise<void> {}
  async destroy(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.held += 1
    return {
      executeQuery: async ({ sql }) => {
        this.told.push(sql)
        const error = this.#reply(sql)
        if (error !== undefined) throw error
        return { rows: [] }
      },
      streamQuery: () => {
        throw new Error('not needed')
      },
    }
  }

  async releaseConnection(): Promise<void> {
    this.held -= 1
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }
}

function scripted(reply: Reply = () => undefined): { db: Kysely<Tables>; driver: ScriptedDriver } {
  const driver = new ScriptedDriver(reply)
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (each) => new PostgresIntrospector(each),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  return { db, driver }
}

const options = {
  isRetryable: (error: unknown) => error instanceof Again,
  isRefusedCommit: (error: unknown) => error instanceof Refused || error instanceof Again,
  open: () => ({ run: async () => [], lock: async () => undefined }),
}
const failing =
  (wanted: string, error: Error): Reply =>
  (statement) =>
    statement === wanted ? error : undefined

describe('transactOn', () => {
  it('gives the result after COMMIT', async () => {
    const { db, driver } = scripted()
    expect(await transactOn(db, async () => 7, options)).toBe(7)
    expect([driver.told, driver.held]).toEqual([['begin', 'commit'], 0])
  })

  it('rolls back and passes on what the work threw', async () => {
    const { db, driver } = scripted()
    await expect(transactOn(db, () => Promise.reject(new Error('mine')), options)).rejects.toThrow('mine')
    expect([driver.told, driver.held]).toEqual([['begin', 'rollback'], 0])
  })

  it('rolls back when its locks came late together, though each came in time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const open = () => ({ ...options.open(), lock: async () => void vi.advanceTimersByTime(2600) })
      const lockTimes = (times: number) => {
        const { db, driver } = scripted()
        const work = async (tx: Transaction): Promise<void> => {
          for (let time = 0; time < times; time += 1) await tx.lock('feed')
        }
        return transactOn(db, work, { ...options, open }).then(
          () => driver.told,
          (error: unknown) => [error, ...driver.told],
        )
      }
      expect(await lockTimes(1)).toEqual(['begin', 'commit'])
      expect(await lockTimes(2)).toEqual([expect.any(LockTimeoutError), 'begin', 'rollback'])
    } finally {
      vi.useRealTimers()
    }
  })

  it('passes on the first cause even when the rollback fails, too, and gives the connection back', async () => {
    const { db, driver } = scripted(failing('rollback', new Lost('gone')))
    await expect(transactOn(db, () => Promise.reject(new Error('first')), options)).rejects.toThrow('first')
    expect(driver.held).toBe(0)
  })

  it('passes on a BEGIN that failed and never runs the work', async () => {
    const { db, driver } = scripted(failing('begin', new Lost('gone')))
    let runs = 0
    const work = async (): Promise<number> => (runs += 1)
    await expect(transactOn(db, work, options)).rejects.toThrow(Lost)
    expect([runs, driver.held]).toEqual([0, 0])
  })

  it('starts the work before the response to a BEGIN that was sent, and commits nothing when it failed', async () => {
    for (const work of [async () => 7, () => Promise.reject(new Again())]) {
      const { db, driver } = scripted()
      const begun = Promise.withResolvers<unknown>()
      const done = transactOn(db, work, { ...options, sendBegin: () => begun.promise })
      begun.reject(new Lost('gone'))
      await expect(done).rejects.toThrow(Lost)
      expect([driver.told, driver.held]).toEqual([[], 0])
    }
  })

  it('throws UnknownOutcomeError when the response to COMMIT is lost, with the cause; nothing is repeated or stored', async () => {
    const { db, driver } = scripted(failing('commit', new Lost('cut')))
    const error = await transactOn(db, async () => 7, options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect((error as Error).cause).toBeInstanceOf(Lost)
    expect(driver.told.filter((statement) => statement === 'begin')).toHaveLength(1)
    expect(driver.held).toBe(0)
  })

  it('passes on a COMMIT the database refused: nothing happened', async () => {
    const { db, driver } = scripted(failing('commit', new Refused('constraint')))
    await expect(transactOn(db, async () => 7, options)).rejects.toThrow(Refused)
    expect(driver.held).toBe(0)
  })

  it('never takes a failure of the work for an unknown outcome', async () => {
    const { db } = scripted()
    await expect(transactOn(db, () => Promise.reject(new Lost('cut')), options)).rejects.toThrow(Lost)
  })

  it('runs a retryable failure again from the start, at most three times', async () => {
    const { db, driver } = scripted()
    let runs = 0
    const succeedsAt = (last: number) => async (): Promise<number> => {
      runs += 1
      if (runs < last) throw new Again('serialisation')
      return runs
    }
    expect(await transactOn(db, succeedsAt(4), options)).toBe(4)
    expect(driver.told.filter((statement) => statement === 'begin')).toHaveLength(4)
    runs = 0
    await expect(transactOn(db, succeedsAt(5), options)).rejects.toThrow(Again)
    expect(runs).toBe(4)
    expect(driver.held).toBe(0)
  })

  it('runs a COMMIT that failed for serialisation again', async () => {
    let commits = 0
    const { db } = scripted((statement) => {
      if (statement !== 'commit') return undefined
      commits += 1
      return commits === 1 ? new Again('serialisation') : undefined
    })
    expect(await transactOn(db, async () => 7, options)).toBe(7)
    expect(commits).toBe(2)
  })

  it('pauses 10 to 100 ms between tries', async () => {
    const { db } = scripted()
    const started = performance.now()
    await expect(transactOn(db, () => Promise.reject(new Again('no')), options)).rejects.toThrow(Again)
    const took = performance.now() - started
    expect(took).toBeGreaterThan(25)
    expect(took).toBeLessThan(2000)
  })
})
