import type { Refusal } from '@chancery/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BodyBudgets, bodyBudgetLimits } from './body-budget.ts'
import type { BodyReservation } from './body-budget.ts'

const SMALL = { bytes: 100, perAddressBytes: 60 }
const PACE = { intervalMs: 1000, bytes: 10 }

class Reading {
  received = 0
  cutWith: string | undefined

  cut(refusal: Refusal): void {
    this.cutWith = refusal.code
  }
}

function rooms(): BodyBudgets {
  return new BodyBudgets({ rooms: { open: SMALL, node: SMALL, operator: SMALL }, bodiesPerAddress: 3, pace: PACE })
}

/** One body on its way that holds so many bytes. */
function reading(
  all: BodyBudgets,
  address: string,
  bytes: number,
): { hold: BodyReservation; read: Reading; fits: boolean } {
  const [hold, read] = [all.open('open', address), new Reading()]
  hold.watch(read)
  return { hold, read, fits: hold.reserveBytes(bytes) }
}

describe('room for bodies', () => {
  it('is bounded for one address, over all its requests', () => {
    const all = rooms()
    expect(reading(all, 'a', 40).fits).toBe(true)
    expect(reading(all, 'a', 21).fits).toBe(false)
    expect(reading(all, 'a', 20).fits).toBe(true)
    expect(reading(all, 'b', 40).fits).toBe(true)
    expect(all.held).toEqual({ open: 100, node: 0, operator: 0 })
  })

  it('is for so many requests of one address, however little they have sent', () => {
    const all = rooms()
    const first = all.open('open', 'a')
    for (let i = 1; i < 3; i += 1) all.open('open', 'a')
    expect(() => all.open('open', 'a')).toThrow(expect.objectContaining({ code: 'service_unavailable' }))
    all.open('open', 'b')
    all.open('node', 'a')
    first.release()
    all.open('open', 'a')
  })

  it('of one kind of route is never used up by another', () => {
    const all = rooms()
    reading(all, 'a', 60)
    reading(all, 'b', 40)
    for (const name of ['node', 'operator'] as const) expect(all.open(name, 'a').reserveBytes(60)).toBe(true)
  })

  it('is taken from the address that holds most, its largest body first, for one that holds less', () => {
    const all = rooms()
    const [small, large] = [reading(all, 'a', 10), reading(all, 'a', 50)]
    const other = reading(all, 'b', 40)
    expect(reading(all, 'c', 30).fits).toBe(true)
    expect([small.read.cutWith, large.read.cutWith, other.read.cutWith]).toEqual([
      undefined,
      'service_unavailable',
      undefined,
    ])
    expect(all.held.open).toBe(80)
  })

  it('is not taken for one that would hold as much itself', () => {
    const all = rooms()
    const first = [reading(all, 'a', 50), reading(all, 'b', 50)]
    expect(reading(all, 'c', 50).fits).toBe(false)
    expect(first.map(({ read }) => read.cutWith)).toEqual([undefined, undefined])
    expect(all.held.open).toBe(100)
  })

  it('of a body that has been read stays counted until its request is answered, and is not taken away', () => {
    const all = rooms()
    const done = [reading(all, 'a', 60), reading(all, 'b', 40)]
    for (const { hold } of done) hold.releaseBytes()
    expect(reading(all, 'c', 1).fits).toBe(false)
    for (const { hold } of done) hold.release()
    expect(all.held.open).toBe(0)
  })

  it('is given back once, however often it is released or cut', () => {
    const all = rooms()
    const one = reading(all, 'a', 60)
    one.hold.cut()
    one.hold.release()
    one.hold.release()
    expect(all.held.open).toBe(0)
    expect(one.hold.reserveBytes(1)).toBe(false)
    expect(reading(all, 'a', 60).fits).toBe(true)
  })

  it('grows with the largest body that is allowed', () => {
    const { rooms: usual } = bodyBudgetLimits(1000)
    const { rooms: wide } = bodyBudgetLimits(4 * 2_097_152)
    expect(usual.operator.bytes).toBe(25_165_824)
    expect(wide.operator).toEqual({ bytes: 4 * 25_165_824, perAddressBytes: 4 * 16_777_216 })
  })
})

describe('the pace of bodies', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('gives up a body that brings too little in a whole interval, and no other', () => {
    const all = rooms()
    const [slow, steady, done] = [reading(all, 'a', 1), reading(all, 'b', 1), reading(all, 'c', 1)]
    done.hold.releaseBytes()
    vi.advanceTimersByTime(1000)
    expect(slow.read.cutWith).toBeUndefined()
    slow.read.received += 9
    steady.read.received += 10
    vi.advanceTimersByTime(1000)
    expect([slow, steady, done].map(({ read }) => read.cutWith)).toEqual(['request_timeout', undefined, undefined])
  })

  it('is not watched when no body is on its way', () => {
    const all = rooms()
    const one = reading(all, 'a', 1)
    one.hold.release()
    vi.advanceTimersByTime(1000)
    expect(vi.getTimerCount()).toBe(0)
    reading(all, 'a', 1)
    expect(vi.getTimerCount()).toBe(1)
  })
})
