import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BatchClosedError, BatchFullError, Batcher, endOfLoopTurn } from './batch.ts'
import { on, once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** Runs that the test completes itself. */
class Runs {
  readonly batches: number[][] = []
  readonly #ends: PromiseWithResolvers<(string | Error)[]>[] = []

  run = (items: number[]): Promise<(string | Error)[]> => {
    this.batches.push(items)
    const end = Promise.withResolvers<(string | Error)[]>()
    this.#ends.push(end)
    return end.promise
  }

  async end(index: number, results?: (string | Error)[]): Promise<void> {
    this.#ends[index]?.resolve(results ?? (this.batches[index] ?? []).map((item) => `r${item}`))
    await turn()
  }

  async fail(index: number, error: unknown): Promise<void> {
    this.#ends[index]?.reject(error)
    await turn()
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const roomy = { maxItems: 100, maxWaiting: 1000 }

describe('Batcher', () => {
  it('runs callers of one loop turn together, and callers that arrive during a run in the next one', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, roomy)
    const first = [batcher.add(1), batcher.add(2)]
    await turn()
    const second = [batcher.add(3), batcher.add(4)]
    await turn()
    expect(runs.batches).toEqual([[1, 2]])
    await runs.end(0)
    expect(runs.batches).toEqual([
      [1, 2],
      [3, 4],
    ])
    await runs.end(1)
    expect(await Promise.all([...first, ...second])).toEqual(['r1', 'r2', 'r3', 'r4'])
  })

  it('starts a run again after it was idle', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, roomy)
    const first = batcher.add(1)
    await turn()
    await runs.end(0)
    await first
    const second = batcher.add(2)
    await turn()
    await runs.end(1)
    expect(await second).toBe('r2')
  })

  it('returns an error to the caller of the failed item only', async () => {
    const batcher = new Batcher(
      async (items: number[]) => items.map((item) => (item === 2 ? new RangeError('two') : item)),
      roomy,
    )
    const answers = await Promise.allSettled([batcher.add(1), batcher.add(2), batcher.add(3)])
    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(answers[1]).toMatchObject({ reason: { message: 'two' } })
  })

  it('refuses all callers of a failed run, and runs later items', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, roomy)
    const failed = Promise.allSettled([batcher.add(1), batcher.add(2)])
    await turn()
    const later = batcher.add(3)
    await runs.fail(0, new RangeError('down'))
    expect(await failed).toMatchObject([{ reason: { message: 'down' } }, { reason: { message: 'down' } }])
    await runs.end(1)
    expect(await later).toBe('r3')
  })

  it.each([
    [
      'throws instead of rejecting',
      (): Promise<string[]> => {
        throw new Error('sync')
      },
    ],
    ['returns too few results', async () => ['only one']],
    ['returns too many results', async () => ['a', 'b', 'c']],
  ])('refuses all callers when a run %s', async (_name, run) => {
    const batcher = new Batcher<number, string>(run, roomy)
    const answers = await Promise.allSettled([batcher.add(1), batcher.add(2)])
    expect(answers.map((answer) => answer.status)).toEqual(['rejected', 'rejected'])
  })

  it('limits a run by items and by weight; an item over the weight limit runs alone', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, { maxItems: 3, maxWaiting: 100, maxWeight: 10, weigh: (item) => item })
    const all = [1, 1, 1, 1, 9, 1, 50, 2].map((item) => batcher.add(item))
    for (let index = 0; index < 5; index += 1) {
      await turn()
      await runs.end(index)
    }
    await Promise.all(all)
    expect(runs.batches).toEqual([[1, 1, 1], [1, 9], [1], [50], [2]])
  })

  it('refuses only the items over the queue limit', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, { maxItems: 10, maxWaiting: 2 })
    const running = batcher.add(1)
    await turn()
    const waiting = [batcher.add(2), batcher.add(3)]
    await expect(batcher.add(4)).rejects.toBeInstanceOf(BatchFullError)
    await runs.end(0)
    await runs.end(1)
    expect(await Promise.all([running, ...waiting])).toEqual(['r1', 'r2', 'r3'])
  })

  it('flush waits for items added before it, not for later ones', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, { maxItems: 1, maxWaiting: 10 })
    void batcher.add(1)
    void batcher.add(2)
    let flushed = false
    const flush = batcher.flush().then(() => (flushed = true))
    void batcher.add(3)
    await turn()
    await runs.end(0)
    expect(flushed).toBe(false)
    await runs.end(1)
    expect(flushed).toBe(true)
    await flush
    await runs.end(2)
    await batcher.flush()
  })

  it('close accepts no more items and waits for the accepted ones, also when a run fails', async () => {
    const runs = new Runs()
    const batcher = new Batcher(runs.run, roomy)
    const last = Promise.allSettled([batcher.add(1)])
    const closed = batcher.close()
    await expect(batcher.add(2)).rejects.toBeInstanceOf(BatchClosedError)
    await turn()
    await runs.fail(0, new Error('down'))
    await closed
    expect(await last).toMatchObject([{ status: 'rejected' }])
    await batcher.close()
  })

  it('keeps order, limits, one run at a time and the correct result under any schedule', async () => {
    const commands = fc.array(
      fc.oneof({ weight: 4, arbitrary: fc.constant('add') }, { weight: 1, arbitrary: fc.constant('turn') }),
      {
        maxLength: 80,
      },
    )
    await fc.assert(
      fc.asyncProperty(
        commands,
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.nat(3), { minLength: 1 }),
        async (plan, maxItems, delays) => {
          const seen: number[] = []
          let running = 0
          let runs = 0
          const batcher = new Batcher(
            async (items: number[]) => {
              running += 1
              expect(running).toBe(1)
              expect(items.length).toBeLessThanOrEqual(maxItems)
              seen.push(...items)
              const delay = delays[runs % delays.length] ?? 0
              runs += 1
              for (let wait = 0; wait < delay; wait += 1) await turn()
              running -= 1
              return items.map((item) => (item % 5 === 0 ? new Error(`e${item}`) : `r${item}`))
            },
            { maxItems, maxWaiting: 1000 },
          )
          const answers: Promise<string>[] = []
          for (const command of plan) {
            if (command === 'turn') await turn()
            else answers.push(batcher.add(answers.length).catch((error: Error) => error.message))
          }
          await batcher.close()
          expect(seen).toEqual(answers.map((_, index) => index))
          expect(await Promise.all(answers)).toEqual(
            answers.map((_, index) => (index % 5 === 0 ? `e${index}` : `r${index}`)),
          )
        },
      ),
    )
  })

  it('starts a run after its delay, with the items that arrived during the delay', async () => {
    const gatherings: PromiseWithResolvers<void>[] = []
    const delay = (): Promise<void> => {
      const gathering = Promise.withResolvers<void>()
      gatherings.push(gathering)
      return gathering.promise
    }
    const runs = new Runs()
    const batcher = new Batcher(runs.run, { ...roomy, delay })
    const first = [batcher.add(1)]
    await turn()
    first.push(batcher.add(2))
    await turn()
    expect(runs.batches).toEqual([])
    gatherings[0]?.resolve()
    await turn()
    expect(runs.batches).toEqual([[1, 2]])
    const second = batcher.add(3)
    await runs.end(0)
    expect(await Promise.all(first)).toEqual(['r1', 'r2'])
    expect(runs.batches).toHaveLength(1)
    gatherings[1]?.resolve()
    await turn()
    await runs.end(1)
    expect(await second).toBe('r3')
  })
})

it('endOfLoopTurn resolves after every connection that was ready in the turn has been read', async () => {
  const seen: string[] = []
  const all = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.once('data', () => {
      seen.push('read')
      void endOfLoopTurn().then(() => {
        seen.push('end')
        if (seen.length === 4) all.resolve()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = on(server, 'connection')
  const { port } = server.address() as AddressInfo
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  for (const socket of sockets) await Promise.all([once(socket, 'connect'), accepted.next()])
  // Both have arrived before the event loop reads either.
  for (const socket of sockets) socket.write('x')
  await all.promise
  expect(seen).toEqual(['read', 'read', 'end', 'end'])
  for (const socket of sockets) socket.destroy()
  server.close()
})
