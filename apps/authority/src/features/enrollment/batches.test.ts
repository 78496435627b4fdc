import { ManualClock } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { HeartbeatPace } from './batches.ts'

function newPace({ usual = 300, slowest = 900 } = {}) {
  const clock = new ManualClock()
  const state = { lagMs: 0 }
  const stored: number[] = []
  const pace = new HeartbeatPace({ clock, usual, slowest, lagMs: () => state.lagMs })
  const store = async (seconds: number): Promise<void> => {
    stored.push(seconds)
  }
  /** One run of the job after some time with answers of this duration. */
  const run = async (seconds: number, answerMs: number): Promise<number> => {
    clock.advance(seconds)
    pace.note(answerMs)
    await pace.choose(store)
    return pace.seconds
  }
  return { pace, state, stored, run, clock }
}

describe('HeartbeatPace', () => {
  it('stays at the interval of the settings while answers are fast, and stores nothing', async () => {
    const { run, stored } = newPace()
    for (let index = 0; index < 10; index += 1) expect(await run(60, 20)).toBe(300)
    expect(stored).toEqual([])
  })

  it('grows by half every 30 s while answers are slow, up to the maximum', async () => {
    const { run } = newPace()
    const paces = []
    for (let index = 0; index < 5; index += 1) paces.push(await run(30, 400))
    expect(paces).toEqual([450, 675, 900, 900, 900])
  })

  it('waits 30 s between two steps, so that nodes can follow', async () => {
    const { run } = newPace()
    expect(await run(30, 400)).toBe(450)
    expect(await run(10, 400)).toBe(450)
    expect(await run(20, 400)).toBe(675)
  })

  it('grows when rows are stored late, although answers are fast', async () => {
    const { run, state } = newPace()
    state.lagMs = 1001
    expect(await run(30, 5)).toBe(450)
    state.lagMs = 1000
    expect(await run(30, 5)).toBe(450)
  })

  it('grows when a queue that is full refuses heartbeats at once', async () => {
    const { pace, run } = newPace()
    for (let index = 0; index < 3; index += 1) pace.note(5)
    pace.note(0, 'failed')
    expect(await run(30, 5)).toBe(300)
    for (let index = 0; index < 3; index += 1) pace.note(0, 'failed')
    expect(await run(30, 400)).toBe(450)
    for (let index = 0; index < 3; index += 1) pace.note(0, 'failed')
    expect(await run(30, 5)).toBe(675)
  })

  it('goes back by a tenth a minute, to the interval of the settings', async () => {
    const { run } = newPace()
    expect(await run(30, 400)).toBe(450)
    expect(await run(30, 5)).toBe(450)
    const paces = []
    for (let index = 0; index < 6; index += 1) paces.push(await run(60, 5))
    expect(paces).toEqual([405, 364, 327, 300, 300, 300])
  })

  it('never changes without a slower maximum', async () => {
    const { run, stored } = newPace({ usual: 60, slowest: 60 })
    expect(await run(30, 5000)).toBe(60)
    expect(stored).toEqual([])
  })

  it('does not ask for an interval that could not be stored', async () => {
    const { pace, clock } = newPace()
    clock.advance(30)
    pace.note(400)
    await expect(pace.choose(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database')
    expect(pace.seconds).toBe(300)
  })
})
