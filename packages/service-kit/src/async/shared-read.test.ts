import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SharedRead } from './shared-read.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function manual() {
  const ends: PromiseWithResolvers<string>[] = []
  const load = (): Promise<string> => {
    const end = Promise.withResolvers<string>()
    ends.push(end)
    return end.promise
  }
  return { ends, reads: new SharedRead(load) }
}

describe('Coalesced', () => {
  it('shares one load among callers of one loop turn', async () => {
    const { ends, reads } = manual()
    const answers = [reads.read(), reads.read(), reads.read()]
    await turn()
    expect(ends).toHaveLength(1)
    ends[0]?.resolve('a')
    expect(await Promise.all(answers)).toEqual(['a', 'a', 'a'])
  })

  it('shares the next load among callers that arrive during a load', async () => {
    const { ends, reads } = manual()
    const early = reads.read()
    await turn()
    const late = [reads.read(), reads.read()]
    await turn()
    expect(ends).toHaveLength(1)
    ends[0]?.resolve('old')
    expect(await early).toBe('old')
    await turn()
    expect(ends).toHaveLength(2)
    ends[1]?.resolve('new')
    expect(await Promise.all(late)).toEqual(['new', 'new'])
  })

  it('caches nothing: a later call loads again', async () => {
    const { ends, reads } = manual()
    for (const value of ['a', 'b']) {
      const answer = reads.read()
      await turn()
      ends.at(-1)?.resolve(value)
      expect(await answer).toBe(value)
    }
  })

  it('fails only for the callers that shared the failed load', async () => {
    const { ends, reads } = manual()
    const early = Promise.allSettled([reads.read(), reads.read()])
    await turn()
    const late = reads.read()
    ends[0]?.reject(new Error('down'))
    expect((await early).map((answer) => answer.status)).toEqual(['rejected', 'rejected'])
    await turn()
    ends[1]?.resolve('up')
    expect(await late).toBe('up')
  })

  it('works again after a load that throws', async () => {
    let loads = 0
    const reads = new SharedRead((): Promise<number> => {
      loads += 1
      if (loads === 1) throw new Error('sync')
      return Promise.resolve(loads)
    })
    await expect(reads.read()).rejects.toThrow('sync')
    expect(await reads.read()).toBe(2)
  })

  it('never returns a result older than the call, with one load at a time, under any schedule', async () => {
    const plan = fc.array(
      fc.record({ readers: fc.nat(3), microtasks: fc.nat(4), turns: fc.nat(1), fails: fc.boolean() }),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(plan, async (steps) => {
        let time = 0
        let running = 0
        let loads = 0
        const reads = new SharedRead(async () => {
          const startedAt = (time += 1)
          const step = steps[loads % Math.max(steps.length, 1)]
          loads += 1
          running += 1
          expect(running).toBe(1)
          for (let wait = 0; wait < (step?.microtasks ?? 0); wait += 1) await Promise.resolve()
          for (let wait = 0; wait < (step?.turns ?? 0); wait += 1) await turn()
          running -= 1
          if (step?.fails === true) throw Object.assign(new Error('failed'), { startedAt })
          return startedAt
        })
        const answers: { askedAt: number; answer: Promise<number> }[] = []
        for (const step of steps) {
          for (let reader = 0; reader < step.readers; reader += 1) {
            const askedAt = (time += 1)
            answers.push({
              askedAt,
              answer: reads.read().catch((error: Error & { startedAt: number }) => error.startedAt),
            })
          }
          for (let wait = 0; wait < step.microtasks; wait += 1) await Promise.resolve()
          if (step.turns > 0) await turn()
        }
        for (const { askedAt, answer } of answers) expect(await answer).toBeGreaterThan(askedAt)
        expect(loads).toBeLessThanOrEqual(answers.length)
      }),
    )
  })

  it('starts a load after its delay, shared with callers that arrived during the delay', async () => {
    const gathered = Promise.withResolvers<void>()
    let loads = 0
    const reads = new SharedRead(
      async () => {
        loads += 1
        return loads
      },
      () => gathered.promise,
    )
    const early = reads.read()
    await turn()
    const late = reads.read()
    await turn()
    expect(loads).toBe(0)
    gathered.resolve()
    expect(await Promise.all([early, late])).toEqual([1, 1])
    expect(await reads.read()).toBe(2)
  })
})
