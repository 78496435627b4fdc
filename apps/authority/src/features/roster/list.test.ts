import { expect, it } from 'vitest'
import { NodeCounter } from './list.ts'
import type { NodeCounts } from './queries/counts.ts'

const COUNTS = {} as NodeCounts

/** A counter that takes `takesMs` of a clock that only the test moves. */
function counterOf(takesMs: number) {
  const clock = { ms: 0, monotonicMs: () => clock.ms }
  let runs = 0
  const counter = new NodeCounter(clock, async () => {
    runs += 1
    clock.ms += takesMs
    return { ...COUNTS }
  })
  const after = async (ms: number): Promise<number> => {
    clock.ms += ms
    await counter.read(true)
    return runs
  }
  return { counter, after, runs: () => runs }
}

it('counts a large network again after 5 s', async () => {
  const { after } = counterOf(20)
  expect([await after(0), await after(4999), await after(2)]).toEqual([1, 1, 2])
})

it('counts less often when counting takes long: a fiftieth of the time, and every 30 s at least', async () => {
  const slow = counterOf(400)
  expect([await slow.after(0), await slow.after(19_999), await slow.after(2)]).toEqual([1, 1, 2])
  const slower = counterOf(5000)
  expect([await slower.after(0), await slower.after(29_999), await slower.after(2)]).toEqual([1, 1, 2])
})

it('counts for each call of a small network', async () => {
  const { counter, runs } = counterOf(1)
  await counter.read(false)
  await counter.read(false)
  expect(runs()).toBe(2)
})
