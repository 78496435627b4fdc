import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Shares } from './address-shares.ts'

function takeAll(shares: Shares, holder: string): number {
  let taken = 0
  while (shares.take(holder)) taken += 1
  return taken
}

describe('Shares', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [32, 22],
    [4096, 2731],
  ])('of %i gives a single caller at most %i', (capacity, most) => {
    expect(takeAll(new Shares(capacity, 2), 'greedy')).toBe(most)
  })

  it('with factor 1 give a single caller half, and the next caller half of the rest', () => {
    const shares = new Shares(256, 1)
    expect(['a', 'b', 'c'].map((holder) => takeAll(shares, holder))).toEqual([128, 64, 32])
    expect([shares.take('d'), shares.taken]).toEqual([true, 225])
    shares.give('a')
    expect(takeAll(shares, 'b')).toBe(0)
  })

  it('leaves some for a new caller when a few others use all they can get', () => {
    const shares = new Shares(32, 2)
    for (const holder of ['a', 'b', 'c']) takeAll(shares, holder)
    expect(shares.take('late')).toBe(true)
  })

  it('releases an amount taken before', () => {
    const shares = new Shares(100, 2)
    expect(shares.take('a', 60)).toBe(true)
    expect(shares.take('a', 10)).toBe(false)
    shares.give('a', 60)
    expect([shares.taken, shares.take('a', 60)]).toEqual([0, true])
  })

  it('never grants more than the total, and counts every caller down to zero', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 }), fc.boolean())
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 80 }), (capacity, steps) => {
        const shares = new Shares(capacity, 2)
        const held: [string, number][] = []
        for (const [holder, count, isTaking] of steps) {
          const last = isTaking ? undefined : held.pop()
          if (last !== undefined) shares.give(...last)
          else if (isTaking && shares.take(holder, count)) held.push([holder, count])
          expect(shares.taken).toBe(held.reduce((sum, [, size]) => sum + size, 0))
          expect(shares.taken).toBeLessThanOrEqual(capacity)
        }
        for (const each of held) shares.give(...each)
        expect(shares.taken).toBe(0)
        expect(shares.take('new')).toBe(true)
      }),
    )
  })
})
