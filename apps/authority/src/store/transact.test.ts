import { describe, expect, it } from 'vitest'
import { UnknownOutcome } from './database.ts'
import type { Tx } from './database.ts'
import { transactOn } from './transact.ts'

class Again extends Error {}
class Lost extends Error {}
class Refused extends Error {}

interface Script {
  readonly commit?: () => Promise<void>
  readonly rollback?: () => Promise<void>
}

/** A database that only knows begin, commit and rollback, and writes down what it is told. */
function fakeDatabase(script: Script = {}): { db: Tx; told: string[] } {
  const told: string[] = []
  const step = (name: string, run: () => Promise<void> = () => Promise.resolve()) => ({
    execute: async () => {
      told.push(name)
      await run()
    },
  })
  const tx = { commit: () => step('commit', script.commit), rollback: () => step('rollback', script.rollback) }
  const db = {
    startTransaction: () => ({
      execute: async () => {
        told.push('begin')
        return tx
      },
    }),
  }
  // The three calls transactOn makes; the rest of the query builder is not needed.
  return { db: db as unknown as Tx, told }
}

const options = {
  isRetryable: (error: unknown) => error instanceof Again,
  isRefusedCommit: (error: unknown) => error instanceof Refused || error instanceof Again,
}

describe('transactOn', () => {
  it('gives the result after COMMIT', async () => {
    const { db, told } = fakeDatabase()
    expect(await transactOn(db, async () => 7, options)).toBe(7)
    expect(told).toEqual(['begin', 'commit'])
  })

  it('rolls back and passes on what the work threw', async () => {
    const { db, told } = fakeDatabase()
    const work = () => Promise.reject(new Error('mine'))
    await expect(transactOn(db, work, options)).rejects.toThrow('mine')
    expect(told).toEqual(['begin', 'rollback'])
  })

  it('passes on the first cause even when the rollback fails, too', async () => {
    const { db } = fakeDatabase({ rollback: () => Promise.reject(new Error('gone')) })
    await expect(transactOn(db, () => Promise.reject(new Error('first')), options)).rejects.toThrow('first')
  })

  it('says UnknownOutcome when the answer to COMMIT is lost, with the cause, and does not run it again', async () => {
    const { db, told } = fakeDatabase({ commit: () => Promise.reject(new Lost('cut')) })
    const error = await transactOn(db, async () => 7, options).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(UnknownOutcome)
    expect((error as Error).cause).toBeInstanceOf(Lost)
    expect(told.filter((step) => step === 'begin')).toHaveLength(1)
  })

  it('passes on a COMMIT the database refused: nothing happened', async () => {
    const { db } = fakeDatabase({ commit: () => Promise.reject(new Refused('constraint')) })
    await expect(transactOn(db, async () => 7, options)).rejects.toThrow(Refused)
  })

  it('never takes a failure of the work for an unknown outcome', async () => {
    const { db } = fakeDatabase()
    await expect(transactOn(db, () => Promise.reject(new Lost('cut')), options)).rejects.toThrow(Lost)
  })

  it('runs a retryable failure again from the start, at most three times', async () => {
    const { db, told } = fakeDatabase()
    let runs = 0
    const succeedsAt = (last: number) => async () => {
      runs += 1
      if (runs < last) throw new Again('serialisation')
      return runs
    }
    expect(await transactOn(db, succeedsAt(4), options)).toBe(4)
    expect(told.filter((step) => step === 'begin')).toHaveLength(4)
    runs = 0
    await expect(transactOn(db, succeedsAt(5), options)).rejects.toThrow(Again)
    expect(runs).toBe(4)
  })

  it('runs a COMMIT that failed for serialisation again', async () => {
    let commits = 0
    const { db } = fakeDatabase({
      commit: async () => {
        commits += 1
        if (commits === 1) throw new Again('serialisation')
      },
    })
    expect(await transactOn(db, async () => commits, options)).toBe(1)
    expect(commits).toBe(2)
  })

  it('pauses 10 to 100 ms between tries', async () => {
    const { db } = fakeDatabase()
    const started = performance.now()
    await expect(transactOn(db, () => Promise.reject(new Again('no')), options)).rejects.toThrow(Again)
    const took = performance.now() - started
    expect(took).toBeGreaterThan(25)
    expect(took).toBeLessThan(2000)
  })
})
