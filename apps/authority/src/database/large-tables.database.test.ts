import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { AdaptiveCount } from './large-tables.ts'

/** A table whose count takes as long as the test says and can be held. */
function table(clock: ManualClock) {
  const state = {
    rows: 0,
    tookSeconds: 0,
    counts: 0,
    held: undefined as Promise<void> | undefined,
    failure: undefined as Error | undefined,
    isLarge: true,
  }
  const count = async (): Promise<number> => {
    state.counts += 1
    await state.held
    if (state.failure !== undefined) throw state.failure
    clock.advance(state.tookSeconds)
    return state.rows
  }
  return { state, count: new AdaptiveCount(clock, count, async () => state.isLarge) }
}

describe('AdaptiveCount', () => {
  it('is fresh for every caller while counting is quick', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.tookSeconds = 0.024
    for (let i = 0; i < 5; i += 1) {
      state.rows = i
      expect(await count.read()).toBe(i)
    }
    expect(state.counts).toBe(5)
  })

  it('is fresh for every caller of a small table, also where a busy machine was slow with it', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    Object.assign(state, { tookSeconds: 3, isLarge: false })
    for (let i = 0; i < 5; i += 1) {
      state.rows = i
      expect(await count.read()).toBe(i)
    }
  })

  it('is at most two seconds old once counting takes 25 ms', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.tookSeconds = 0.025
    state.rows = 1
    expect(await count.read()).toBe(1)
    state.rows = 2
    clock.advance(0.999)
    // A recent count: no new count.
    expect([await count.read(), state.counts]).toEqual([1, 1])
    clock.advance(0.001)
    // An older count: the old number immediately, and one caller counts.
    expect([await count.read(), state.counts]).toEqual([1, 2])
    await setImmediate()
    expect(await count.read()).toBe(2)
    state.rows = 3
    clock.advance(2)
    // Old: waited for.
    expect(await count.read()).toBe(3)
  })

  it('counts once however many ask', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.tookSeconds = 0.1
    await count.read()
    clock.advance(5)
    state.rows = 9
    const { promise, resolve } = Promise.withResolvers<void>()
    state.held = promise
    const readers = Array.from({ length: 100 }, () => count.read())
    resolve()
    expect(new Set(await Promise.all(readers))).toEqual(new Set([9]))
    expect(state.counts).toBe(2)
  })

  it('is quick again when counting is', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.tookSeconds = 1
    await count.read()
    state.tookSeconds = 0
    clock.advance(3)
    await count.read()
    state.rows = 5
    expect(await count.read()).toBe(5)
  })

  it('a failure reaches all waiting callers, is never unhandled, and is not cached', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.tookSeconds = 0.1
    state.rows = 1
    await count.read()
    state.failure = new Error('away')
    clock.advance(1.5)
    // Does not wait, so does not fail.
    expect(await count.read()).toBe(1)
    clock.advance(1)
    await expect(count.read()).rejects.toThrow('away')
    state.failure = undefined
    state.rows = 2
    expect(await count.read()).toBe(2)
  })

  it('fails its first reader when the first count fails', async () => {
    const clock = new ManualClock()
    const { state, count } = table(clock)
    state.failure = new Error('away')
    await expect(count.read()).rejects.toThrow('away')
    state.failure = undefined
    expect(await count.read()).toBe(0)
  })
})
