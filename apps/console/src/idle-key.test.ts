import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { signedOutText, idleMinutes, signOutWhenIdle } from './idle-key.ts'

const MINUTE = 60_000

describe('an idle key', () => {
  let events: EventTarget
  let wall: number
  let locked: number
  const watch = (clocks: readonly (() => number)[] = [() => wall]): (() => void) =>
    signOutWhenIdle(15, () => (locked += 1), { events, clocks })
  /** Advances time in steps, as on a machine that is awake. */
  const pass = (ms: number): void => {
    wall += ms
    vi.advanceTimersByTime(ms)
  }
  beforeEach(() => {
    vi.useFakeTimers()
    ;[events, wall, locked] = [new EventTarget(), 1_000_000, 0]
  })
  afterEach(() => vi.useRealTimers())

  it('is removed once, after the time and not before', () => {
    watch()
    pass(15 * MINUTE - 5_000)
    expect(locked).toBe(0)
    pass(20 * MINUTE)
    expect(locked).toBe(1)
  })

  it.each(['keydown', 'pointerdown', 'pointermove', 'wheel'])('stays after %s', (sign) => {
    watch()
    for (let i = 0; i < 4; i += 1) {
      pass(10 * MINUTE)
      events.dispatchEvent(new Event(sign))
    }
    expect(locked).toBe(0)
  })

  it.each(['keydown', 'visibilitychange'])('is removed by the first %s after the machine slept', (sign) => {
    watch()
    // No timer ran meanwhile.
    wall += 60 * MINUTE
    events.dispatchEvent(new Event(sign))
    expect(locked).toBe(1)
    events.dispatchEvent(new Event(sign))
    expect(locked).toBe(1)
  })

  it('is removed although one clock was set back', () => {
    let steady = 0
    watch([() => wall, () => steady])
    wall -= 3_600_000
    steady += 15 * MINUTE
    events.dispatchEvent(new Event('keydown'))
    expect(locked).toBe(1)
  })

  it('is not removed after the check has ended', () => {
    watch()()
    pass(60 * MINUTE)
    expect(locked).toBe(0)
  })
})

it('uses the minutes of the page, or the default when they are not valid', () => {
  const element = (value: string | null): Element => ({ getAttribute: () => value }) as unknown as Element
  expect(['5', '1440', null, '', '0', '-3', '1.5', 'x'].map((value) => idleMinutes(element(value)))).toEqual([
    5, 1440, 15, 15, 15, 15, 15, 15,
  ])
  expect(idleMinutes(null)).toBe(15)
  expect([1, 15].map(signedOutText)).toEqual([
    'The key was removed after a minute without input.',
    'The key was removed after 15 minutes without input.',
  ])
})
