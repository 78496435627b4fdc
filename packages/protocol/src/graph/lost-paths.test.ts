import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findLostPaths } from './trust-path.ts'
import type { RecognitionEdge } from './recognition-graph.ts'

function edge(from: string, to: string, treaty_id = `${from}-${to}`, isActive = true): RecognitionEdge {
  const state = isActive
    ? { status: 'active', lifecycle_state: 'active' as const }
    : { status: 'revoked', lifecycle_state: 'revoked' as const }
  return {
    from,
    to,
    treaty_id,
    expiry_risk: 'low',
    valid_from: '2030-01-01T00:00:00Z',
    expires_at: '2031-01-01T00:00:00Z',
    ...state,
  }
}

/** Pairs joined by at most 16 active edges, by squaring distances instead of searching. */
function pairs(edges: readonly RecognitionEdge[]): Set<string> {
  const names = [...new Set(edges.flatMap(({ from, to }) => [from, to]))]
  const distance = new Map<string, number>()
  for (const each of edges) if (each.status === 'active') distance.set(`${each.from} ${each.to}`, 1)
  for (const via of names)
    for (const from of names)
      for (const to of names) {
        const sum = (distance.get(`${from} ${via}`) ?? Infinity) + (distance.get(`${via} ${to}`) ?? Infinity)
        if (sum < (distance.get(`${from} ${to}`) ?? Infinity)) distance.set(`${from} ${to}`, sum)
      }
  const isPair = ([name, hops]: [string, number]): boolean => hops <= 16 && new Set(name.split(' ')).size === 2
  return new Set([...distance].filter(isPair).map(([name]) => name))
}

function lostPairs(edges: readonly RecognitionEdge[], treaty_id: string): string[] {
  const after = pairs(edges.filter((each) => each.treaty_id !== treaty_id))
  return [...pairs(edges)].filter((pair) => !after.has(pair)).sort()
}

describe('findLostPaths', () => {
  it('names the pairs that only this treaty joins', () => {
    const edges = [edge('A', 'B'), edge('B', 'C'), edge('Z', 'A'), edge('A', 'D'), edge('D', 'C')]
    expect(findLostPaths(edges, 'A-B')).toEqual({
      count: 2,
      complete: true,
      sample: [
        { from: 'A', to: 'B' },
        { from: 'Z', to: 'B' },
      ],
      direct_recognition_lost: true,
    })
  })

  it.each<[string, readonly RecognitionEdge[], string]>([
    ['a second active treaty', [edge('A', 'B', '1'), edge('A', 'B', '2')], '1'],
    ['a treaty that is revoked already', [edge('A', 'B', '1', false)], '1'],
    ['an unknown treaty', [edge('A', 'B', '1')], '2'],
    ['nothing', [], '1'],
  ])('%s: nothing is lost', (_what, edges, treaty_id) => {
    expect(findLostPaths(edges, treaty_id)).toEqual({
      count: 0,
      complete: true,
      sample: [],
      direct_recognition_lost: false,
    })
  })

  it('direct recognition is lost also where a detour remains', () => {
    const edges = [edge('A', 'B'), edge('A', 'X'), edge('X', 'B')]
    expect(findLostPaths(edges, 'A-B')).toEqual({ count: 0, complete: true, sample: [], direct_recognition_lost: true })
  })

  it('knows the bound of 16: a detour that is too long is none', () => {
    const chain = Array.from({ length: 17 }, (_, i) => edge(`n${i}`, `n${i + 1}`))
    const edges = [...chain, edge('n0', 'n17', 'short')]
    expect(findLostPaths(edges, 'short')).toMatchObject({ count: 1, sample: [{ from: 'n0', to: 'n17' }] })
  })

  it('counts exactly the pairs that are gone afterwards, on random graphs', () => {
    const names = ['A', 'B', 'C', 'D', 'E', 'F'] as const
    const one = fc.record({ from: fc.constantFrom(...names), to: fc.constantFrom(...names), isActive: fc.boolean() })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 16 }), fc.nat(15), (facts, chosen) => {
        const edges = facts
          .filter(({ from, to }) => from !== to)
          .map(({ from, to, isActive }, i) => edge(from, to, `t${i}`, isActive || i % 3 > 0))
        const treaty_id = `t${chosen}`
        const expected = lostPairs(edges, treaty_id)
        const found = findLostPaths(edges, treaty_id)
        expect(found.count).toBe(expected.length)
        expect(found.sample.map(({ from, to }) => `${from} ${to}`).sort()).toEqual(
          expected.length <= 20 ? expected : expect.any(Array),
        )
        expect(found.complete).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('and about chains near the bound', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 22 }), fc.nat(21), (length, cut) => {
        const edges = Array.from({ length }, (_, i) => edge(`n${i}`, `n${i + 1}`))
        const treaty_id = `n${cut}-n${cut + 1}`
        expect(findLostPaths(edges, treaty_id).count).toBe(lostPairs(edges, treaty_id).length)
      }),
      { numRuns: 40 },
    )
  })

  it('shows 20 of many and says when it did not look at all sources', () => {
    const many = Array.from({ length: 499 }, (_, i) => edge(`s${String(i).padStart(3, '0')}`, 'A'))
    const all = findLostPaths([edge('A', 'B'), ...many], 'A-B')
    expect([all.count, all.complete, all.sample.length]).toEqual([500, true, 20])
    const more = findLostPaths([edge('A', 'B'), ...many, edge('t', 'A')], 'A-B')
    expect([more.count, more.complete]).toEqual([500, false])
  })
})
