import type { ListChange } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { joinChanges } from './list-deltas.ts'

/** Removes entries far from each other, so that the list falls into more pieces with each version. */
const scattered = (version: number): ListChange => ({
  removed: [1, 2, 3, 4].map((part) => ({ at: part * 10_000 + version * 2, count: 1 })),
  added: [],
})

describe('joinChanges', () => {
  it('makes one change of several', () => {
    const steps = [
      { removed: [{ at: 1, count: 1 }], added: [{ at: 2, entries: ['d'] }] },
      { removed: [{ at: 0, count: 1 }], added: [{ at: 2, entries: ['e'] }] },
    ]
    // a b c, a c d, c d e
    expect(joinChanges(3, steps)).toEqual({ removed: [{ at: 0, count: 2 }], added: [{ at: 1, entries: ['d', 'e'] }] })
  })

  it('stops when the pieces of all versions are too many: any caller can ask', () => {
    const versions = Array.from({ length: 2000 }, (_, version) => scattered(version))
    expect(joinChanges(100_000, versions.slice(0, 50))?.removed.length).toBeGreaterThan(100)
    const before = process.cpuUsage()
    expect(joinChanges(100_000, versions)).toBeUndefined()
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(100)
  })
})
