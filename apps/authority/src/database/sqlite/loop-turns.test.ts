import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { LoopTurns } from './loop-turns.ts'

function stayBusy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('a statement of SQLite', () => {
  it('waits for the next turn of the event loop when this one took over 10 ms, and not before', async () => {
    const turns = new LoopTurns()
    await nextTurn()
    expect(turns.wait()).toBeUndefined()
    stayBusy(12)
    const wait = turns.wait()
    expect(wait).toBeInstanceOf(Promise)
    let isServed = false
    setImmediate(() => {
      isServed = true
    })
    await wait
    await nextTurn()
    expect(isServed).toBe(true)
    expect(turns.wait()).toBeUndefined()
  })
})
