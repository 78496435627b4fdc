import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Capacity } from './capacity.ts'

function takeAll(slots: Capacity<'slots'>, holder: string): number {
  let taken = 0
  while (slots.take('slots', holder)) taken += 1
  return taken
}

describe('a pool', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [32, 22],
    [4096, 2731],
  ])('of %i gives a single caller at most %i', (capacity, most) => {
    expect(takeAll(new Capacity({ slots: capacity }, 2), 'greedy')).toBe(most)
  })

  it('with factor 1 give a single caller half, and the next caller half of the rest', () => {
    const capacity = new Capacity({ slots: 256 }, 1)
    expect(['a', 'b', 'c'].map((holder) => takeAll(capacity, holder))).toEqual([128, 64, 32])
    expect([capacity.take('slots', 'd'), capacity.taken('slots')]).toEqual([true, 225])
    capacity.give('slots', 'a')
    expect(takeAll(capacity, 'b')).toBe(0)
  })

  it('leaves some for a new caller when a few others use all they can get', () => {
    const capacity = new Capacity({ slots: 32 }, 2)
    for (const holder of ['a', 'b', 'c']) takeAll(capacity, holder)
    expect(capacity.take('slots', 'late')).toBe(true)
  })

  it('releases an amount taken before', () => {
    const capacity = new Capacity({ slots: 100 }, 2)
    expect(capacity.take('slots', 'a', 60)).toBe(true)
    expect(capacity.take('slots', 'a', 10)).toBe(false)
    capacity.give('slots', 'a', 60)
    expect([capacity.taken('slots'), capacity.take('slots', 'a', 60)]).toEqual([0, true])
  })

  it('is not used by what other pools give', () => {
    const capacity = new Capacity({ slots: 2, bytes: 10 }, 2)
    expect([capacity.take('slots', 'a'), capacity.take('slots', 'b'), capacity.hasRoom('slots')]).toEqual([
      true,
      true,
      false,
    ])
    expect([capacity.take('bytes', 'a', 6), capacity.taken('slots'), capacity.taken('bytes')]).toEqual([true, 2, 6])
    expect(capacity.takenOfAll).toBe(8)
  })

  it('never grants more than the total, and counts every caller down to zero', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 9 }), fc.boolean())
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 80 }), (slots, steps) => {
        const capacity = new Capacity({ slots }, 2)
        const held: [string, number][] = []
        for (const [holder, count, isTaking] of steps) {
          const last = isTaking ? undefined : held.pop()
          if (last !== undefined) capacity.give('slots', ...last)
          else if (isTaking && capacity.take('slots', holder, count)) held.push([holder, count])
          expect(capacity.taken('slots')).toBe(held.reduce((sum, [, size]) => sum + size, 0))
          expect(capacity.taken('slots')).toBeLessThanOrEqual(slots)
        }
        for (const each of held) capacity.give('slots', ...each)
        expect(capacity.taken('slots')).toBe(0)
        expect(capacity.take('slots', 'new')).toBe(true)
      }),
    )
  })
})
