import { DAY, seconds } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { PurgeClock } from './purge-clock.ts'

const HOUR_MS = 3_600_000
let clock: ManualClock
let purgeClock: PurgeClock
/** A process that has run for an hour. */
beforeEach(() => {
  clock = new ManualClock()
  purgeClock = new PurgeClock(clock, HOUR_MS)
  clock.advance(3600)
  purgeClock.now()
})
const jump = (micros: bigint): void => clock.set(clock.now() + micros)

describe('the time by which rows may be purged', () => {
  it('passes with the clock, small corrections included', () => {
    clock.advance(90 * 86_400)
    expect(purgeClock.now()).toBe(clock.now())
    jump(seconds(5))
    expect(purgeClock.now()).toBe(clock.now())
  })

  it('is long ago in the first hour of a process, whose clock may be ahead from the start', () => {
    const young = new PurgeClock(clock, HOUR_MS)
    clock.advance(3599)
    expect(young.now()).toBeLessThan(clock.now() - 300n * DAY)
    clock.advance(1)
    expect(young.now()).toBe(clock.now())
  })

  it('is never before any time that can be written, whatever the clock shows', () => {
    const young = new PurgeClock(new ManualClock(0n), HOUR_MS)
    expect(young.now()).toBeGreaterThan(0n)
  })

  it('does not follow a jump ahead, but continues', () => {
    const before = clock.now()
    jump(40n * DAY)
    expect(purgeClock.now()).toBe(before)
    clock.advance(100)
    expect(purgeClock.now()).toBe(before + seconds(100))
  })

  it('accepts a jump ahead after its period, counted from the last one', () => {
    jump(DAY)
    purgeClock.now()
    clock.advance(3000)
    jump(DAY)
    purgeClock.now()
    clock.advance(3599)
    expect(purgeClock.now()).toBe(clock.now() - 2n * DAY)
    clock.advance(1)
    expect(purgeClock.now()).toBe(clock.now())
  })

  it('follows a jump back immediately, and so the end of one ahead', () => {
    jump(40n * DAY)
    purgeClock.now()
    jump(-40n * DAY)
    clock.advance(4000)
    expect(purgeClock.now()).toBe(clock.now())
    jump(-DAY)
    expect(purgeClock.now()).toBe(clock.now())
  })
})
