import { DAY, seconds } from '@chancery/protocol'
import { ManualClock } from '@chancery/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { SettledTime } from './settled-time.ts'

let clock: ManualClock
let isConfirmed: boolean
let settled: SettledTime
beforeEach(() => {
  clock = new ManualClock()
  isConfirmed = false
  settled = new SettledTime(clock, () => isConfirmed)
})
const jump = (micros: bigint): void => clock.set(clock.now() + micros)

describe('the time by which something may be forgotten', () => {
  it('passes with the clock, small corrections included', () => {
    clock.advance(90 * 86_400)
    expect(settled.now()).toBe(clock.now())
    jump(seconds(5))
    expect(settled.now()).toBe(clock.now())
  })

  it('does not follow a jump ahead, but goes on', () => {
    const before = clock.now()
    jump(40n * DAY)
    expect(settled.now()).toBe(before)
    clock.advance(100)
    expect(settled.now()).toBe(before + seconds(100))
  })

  it('believes a jump ahead after an hour, counted from the last one', () => {
    jump(DAY)
    settled.now()
    clock.advance(3000)
    jump(DAY)
    settled.now()
    clock.advance(3599)
    expect(settled.now()).toBe(clock.now() - 2n * DAY)
    clock.advance(1)
    expect(settled.now()).toBe(clock.now())
  })

  it('follows a jump back at once, and so the end of one ahead', () => {
    jump(40n * DAY)
    settled.now()
    jump(-40n * DAY)
    clock.advance(4000)
    expect(settled.now()).toBe(clock.now())
    jump(-DAY)
    expect(settled.now()).toBe(clock.now())
  })

  it('follows a jump ahead that the database confirms', () => {
    jump(DAY)
    isConfirmed = true
    expect(settled.now()).toBe(clock.now())
  })
})
