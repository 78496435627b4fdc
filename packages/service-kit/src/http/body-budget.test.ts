import type { Refusal } from '@chancery/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BodyBudgets, type BodyReservation, bodyBudgetLimits } from './body-budget.ts'

const SMALL = { bytes: 100, perAddressBytes: 60 }
const PACE = { intervalMs: 1000, bytes: 10 }

class Reading {
  received = 0
  cutWith: string | undefined

  cut(refusal: Refusal): void {
    this.cutWith = refusal.code
  }
}

function budgets(): BodyBudgets {
  return new BodyBudgets({ budgets: { open: SMALL, node: SMALL, operator: SMALL }, bodiesPerAddress: 3, pace: PACE })
}

/** An arriving body with this many bytes. */
function reading(
  all: BodyBudgets,
  address: string,
  bytes: number,
): { hold: BodyReservation; read: Reading; fits: boolean } {
  const [hold, read] = [all.open('open', address), new Reading()]
  hold.watch(read)
  return { hold, read, fits: hold.reserveBytes(bytes) }
}

describe('a body budget', () => {
  it('is limited for one address, over all its requests', () => {
    const all = budgets()
    expect(reading(all, 'a', 40).fits).toBe(true)
    expect(reading(all, 'a', 21).fits).toBe(false)
    expect(reading(all, 'a', 20).fits).toBe(true)
    expect(reading(all, 'b', 40).fits).toBe(true)
    expect(all.reserved).toEqual({ open: 100, node: 0, operator: 0 })
  })

  it('limits the number of requests of one address, also when they have sent little', () => {
    const all = budgets()
    const first = all.open('open', 'a')
    for (let i = 1; i < 3; i += 1) all.open('open', 'a')
    expect(() => all.open('open', 'a')).toThrow(expect.objectContaining({ code: 'service_unavailable' }))
    all.open('open', 'b')
    all.open('node', 'a')
    first.release()
    all.open('open', 'a')
  })

  it('of one kind of route is not used by another kind', () => {
    const all = budgets()
    reading(all, 'a', 60)
    reading(all, 'b', 40)
    for (const name of ['node', 'operator'] as const) expect(all.open(name, 'a').reserveBytes(60)).toBe(true)
  })

  it('cancels the largest body of the address with the most bytes for an address with fewer', () => {
    const all = budgets()
    const [small, large] = [reading(all, 'a', 10), reading(all, 'a', 50)]
    const other = reading(all, 'b', 40)
    expect(reading(all, 'c', 30).fits).toBe(true)
    expect([small.read.cutWith, large.read.cutWith, other.read.cutWith]).toEqual([
      undefined,
      'service_unavailable',
      undefined,
    ])
    expect(all.reserved.open).toBe(80)
  })

  it('cancels no body for an address that would have as many bytes', () => {
    const all = budgets()
    const first = [reading(all, 'a', 50), reading(all, 'b', 50)]
    expect(reading(all, 'c', 50).fits).toBe(false)
    expect(first.map(({ read }) => read.cutWith)).toEqual([undefined, undefined])
    expect(all.reserved.open).toBe(100)
  })

  it('counts a read body until the response is sent, and does not cancel it', () => {
    const all = budgets()
    const done = [reading(all, 'a', 60), reading(all, 'b', 40)]
    for (const { hold } of done) hold.releaseBytes()
    expect(reading(all, 'c', 1).fits).toBe(false)
    for (const { hold } of done) hold.release()
    expect(all.reserved.open).toBe(0)
  })

  it('is freed once when a body is released or cancelled several times', () => {
    const all = budgets()
    const one = reading(all, 'a', 60)
    one.hold.cut()
    one.hold.release()
    one.hold.release()
    expect(all.reserved.open).toBe(0)
    expect(one.hold.reserveBytes(1)).toBe(false)
    expect(reading(all, 'a', 60).fits).toBe(true)
  })

  it('grows with the largest allowed body', () => {
    const { budgets: usual } = bodyBudgetLimits(1000)
    const { budgets: wide } = bodyBudgetLimits(4 * 2_097_152)
    expect(usual.operator.bytes).toBe(25_165_824)
    expect(wide.operator).toEqual({ bytes: 4 * 25_165_824, perAddressBytes: 4 * 16_777_216 })
  })
})

describe('the minimum speed of bodies', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('cancels a body that delivers too little in a full interval, and no other', () => {
    const all = budgets()
    const [slow, steady, done] = [reading(all, 'a', 1), reading(all, 'b', 1), reading(all, 'c', 1)]
    done.hold.releaseBytes()
    vi.advanceTimersByTime(1000)
    expect(slow.read.cutWith).toBeUndefined()
    slow.read.received += 9
    steady.read.received += 10
    vi.advanceTimersByTime(1000)
    expect([slow, steady, done].map(({ read }) => read.cutWith)).toEqual(['request_timeout', undefined, undefined])
  })

  it('is not checked when no body is arriving', () => {
    const all = budgets()
    const one = reading(all, 'a', 1)
    one.hold.release()
    vi.advanceTimersByTime(1000)
    expect(vi.getTimerCount()).toBe(0)
    reading(all, 'a', 1)
    expect(vi.getTimerCount()).toBe(1)
  })
})
