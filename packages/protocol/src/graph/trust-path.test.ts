import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RecognitionEdge } from './recognition-graph.ts'
import { indexEdges } from './trust-index.ts'
import { MAX_HOPS, type TrustPath, findTrustPath, reachableFrom } from './trust-path.ts'

type AttestationStatus = Pick<RecognitionEdge, 'status' | 'lifecycle_state'>
const ACTIVE: AttestationStatus = { status: 'active', lifecycle_state: 'active' }
const SOON: AttestationStatus = { status: 'active', lifecycle_state: 'expiring_soon' }
const EXPIRED: AttestationStatus = { status: 'active', lifecycle_state: 'expired' }
const REVOKED: AttestationStatus = { status: 'revoked', lifecycle_state: 'revoked' }
const REPLACED: AttestationStatus = { status: 'revoked', lifecycle_state: 'replaced' }
const SUSPENDED: AttestationStatus = { status: 'suspended', lifecycle_state: 'active' }

function edge(
  from: string,
  to: string,
  treaty_id = `${from}-${to}`,
  state: AttestationStatus = ACTIVE,
): RecognitionEdge {
  const window = { valid_from: '2030-01-01T00:00:00Z', expires_at: '2031-01-01T00:00:00Z' }
  return { from, to, treaty_id, expiry_risk: 'low', ...window, ...state }
}

function find(edges: readonly RecognitionEdge[], from: string, to: string): TrustPath {
  return findTrustPath(indexEdges(edges), from, to)
}

const treatiesOf = ({ path }: TrustPath): string[] => path.map(({ treaty_id }) => treaty_id)

function chain(length: number): RecognitionEdge[] {
  return Array.from({ length }, (_, i) => edge(`n${i}`, `n${i + 1}`))
}

/** Computes paths differently from the product: whole paths in a queue, every list filtered and sorted again. */
function naive(edges: readonly RecognitionEdge[], from: string, to: string): TrustPath {
  const isUsable = ({ status, lifecycle_state }: RecognitionEdge): boolean =>
    status === 'active' && (lifecycle_state === 'active' || lifecycle_state === 'expiring_soon')
  const ordered = [...edges].sort(
    (a, b) => byPoints(a.from, b.from) || byPoints(a.to, b.to) || byPoints(a.treaty_id, b.treaty_id),
  )
  const visited = new Set([from])
  const queue: { at: string; path: RecognitionEdge[] }[] = from === to ? [] : [{ at: from, path: [] }]
  for (const { at, path } of queue) {
    if (path.length === 16) continue
    for (const next of ordered) {
      if (!isUsable(next) || next.from !== at || visited.has(next.to)) continue
      visited.add(next.to)
      const longer = [...path, next]
      if (next.to === to)
        return { from, to, trusted: true, reason: 'active_treaty_path', path: longer, hop_count: longer.length }
      queue.push({ at: next.to, path: longer })
    }
  }
  const direct = ordered.find((each) => each.from === from && each.to === to && each.status === 'revoked')
  if (direct !== undefined)
    return { from, to, trusted: false, reason: 'direct_treaty_revoked', path: [direct], hop_count: 0 }
  return { from, to, trusted: false, reason: 'no_active_treaty_path', path: [], hop_count: 0 }
}

function byPoints(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => [...text].map((point) => point.codePointAt(0) ?? 0))
  for (let i = 0; i < Math.max(left?.length ?? 0, right?.length ?? 0); i += 1) {
    const difference = (left?.[i] ?? -1) - (right?.[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

describe('findTrustPath (protocol/core 20.3)', () => {
  it('finds a direct treaty', () => {
    const direct = edge('A', 'B')
    expect(find([direct], 'A', 'B')).toEqual({
      from: 'A',
      to: 'B',
      trusted: true,
      reason: 'active_treaty_path',
      path: [direct],
      hop_count: 1,
    })
  })

  it('follows treaties in their direction only', () => {
    expect(find([edge('A', 'B')], 'B', 'A')).toEqual({
      from: 'B',
      to: 'A',
      trusted: false,
      reason: 'no_active_treaty_path',
      path: [],
      hop_count: 0,
    })
  })

  it('takes the shortest path', () => {
    const edges = [edge('A', 'B'), edge('B', 'C'), edge('C', 'D'), edge('A', 'X'), edge('X', 'D')]
    expect(treatiesOf(find(edges, 'A', 'D'))).toEqual(['A-X', 'X-D'])
  })

  it('of equally short paths takes the first in the order of from, to and treaty', () => {
    const edges = [edge('A', 'C'), edge('C', 'D'), edge('A', 'B', 't2'), edge('A', 'B', 't1'), edge('B', 'D')]
    expect(treatiesOf(find(edges, 'A', 'D'))).toEqual(['t1', 'B-D'])
    expect(treatiesOf(find(edges.toReversed(), 'A', 'D'))).toEqual(['t1', 'B-D'])
  })

  it('orders neighbours by code point, not by UTF-16 unit', () => {
    const edges = [
      edge('A', '\u{1f600}'),
      edge('\u{1f600}', 'D', 'late'),
      edge('A', '\ue000'),
      edge('\ue000', 'D', 'first'),
    ]
    expect(treatiesOf(find(edges, 'A', 'D'))).toEqual(['A-\ue000', 'first'])
  })

  it('uses expiring treaties, but no ended ones', () => {
    expect(find([edge('A', 'B', '1', SOON)], 'A', 'B').trusted).toBe(true)
    for (const state of [EXPIRED, REVOKED, REPLACED, SUSPENDED])
      expect(find([edge('A', 'B', '1', state), edge('B', 'C')], 'A', 'C').trusted).toBe(false)
  })

  it.each([
    ['revoked', REVOKED],
    ['replaced', REPLACED],
  ])('names the direct treaty that was %s, the one with the smallest id', (_what, state) => {
    const edges = [edge('A', 'B', 't2', state), edge('A', 'B', 't1', state), edge('A', 'B', 't0', EXPIRED)]
    const found = find(edges, 'A', 'B')
    expect(found).toMatchObject({ trusted: false, reason: 'direct_treaty_revoked', hop_count: 0 })
    expect(treatiesOf(found)).toEqual(['t1'])
  })

  it('a path over others counts more than a revoked direct treaty', () => {
    const edges = [edge('A', 'B', 't1', REVOKED), edge('A', 'X'), edge('X', 'B')]
    expect(treatiesOf(find(edges, 'A', 'B'))).toEqual(['A-X', 'X-B'])
  })

  it.each([
    ['an expired direct treaty', EXPIRED],
    ['a suspended direct treaty', SUSPENDED],
  ])('%s is no reason', (_what, state) => {
    expect(find([edge('A', 'B', '1', state)], 'A', 'B').reason).toBe('no_active_treaty_path')
  })

  it('from a sovereign to itself there is no path', () => {
    expect(find([edge('A', 'B'), edge('B', 'A')], 'A', 'A')).toMatchObject({
      trusted: false,
      reason: 'no_active_treaty_path',
    })
  })

  it('knows nothing of sovereigns that are not there', () => {
    for (const [from, to] of [
      ['A', 'X'],
      ['X', 'A'],
      ['', ''],
      ['__proto__', 'constructor'],
    ] as const)
      expect(find([edge('A', 'B')], from, to).reason).toBe('no_active_treaty_path')
  })

  it('searches 16 treaties far and no farther', () => {
    expect(MAX_HOPS).toBe(16)
    const edges = chain(20)
    expect(find(edges, 'n0', 'n16')).toMatchObject({ trusted: true, hop_count: 16 })
    expect(find(edges, 'n0', 'n17')).toMatchObject({ trusted: false, reason: 'no_active_treaty_path' })
    expect(find(edges, 'n1', 'n17')).toMatchObject({ trusted: true, hop_count: 16 })
  })

  it('ends in a circle', () => {
    const circle = [...chain(5), edge('n5', 'n0')]
    expect(find(circle, 'n3', 'n2')).toMatchObject({ trusted: true, hop_count: 5 })
    expect(find(circle, 'n3', 'X').trusted).toBe(false)
  })

  it('agrees with a naive search on random graphs', () => {
    const names = ['A', 'B', 'C', 'D', 'a', '\ue000', '\u{1f600}'] as const
    const some = fc.record({
      from: fc.constantFrom(...names),
      to: fc.constantFrom(...names),
      treaty_id: fc.constantFrom('1', '2', '\ue000', '\u{1f600}'),
      state: fc.constantFrom(ACTIVE, ACTIVE, ACTIVE, SOON, EXPIRED, REVOKED, REPLACED, SUSPENDED),
    })
    // Treaty ids are unique in the store.
    const edges = fc.uniqueArray(some, {
      maxLength: 24,
      selector: ({ from, to, treaty_id }) => `${from} ${to} ${treaty_id}`,
    })
    fc.assert(
      fc.property(edges, (facts) => {
        const all = facts.map(({ from, to, treaty_id, state }) => edge(from, to, treaty_id, state))
        const index = indexEdges(all)
        for (const from of names)
          for (const to of names) expect(findTrustPath(index, from, to)).toEqual(naive(all, from, to))
      }),
      { numRuns: 300 },
    )
  })

  it('agrees with a naive search about long detours and the bound', () => {
    const length = 22
    const shortcut = fc.tuple(fc.nat(length), fc.nat(length))
    fc.assert(
      fc.property(
        fc.uniqueArray(shortcut, { maxLength: 4, selector: String }),
        fc.nat(length),
        fc.nat(length),
        (jumps, a, b) => {
          const all = [...chain(length), ...jumps.map(([from, to]) => edge(`n${from}`, `n${to}`, `jump-${from}-${to}`))]
          expect(find(all, `n${a}`, `n${b}`)).toEqual(naive(all, `n${a}`, `n${b}`))
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('indexEdges', () => {
  it('does not touch the list it is given', () => {
    const edges = Object.freeze([edge('B', 'A'), edge('A', 'B')])
    expect(indexEdges(edges).names).toEqual(['A', 'B'])
    expect(edges[0]?.from).toBe('B')
  })
})

describe('reachableFrom', () => {
  it('is the start and everything a path leads to, and nothing farther than the longest path', () => {
    const chain = Array.from({ length: MAX_HOPS + 2 }, (_, i) => edge(`N${i}`, `N${i + 1}`))
    const reached = reachableFrom(indexEdges(chain), 'N0')
    expect([...reached].sort()).toEqual(Array.from({ length: MAX_HOPS + 1 }, (_, i) => `N${i}`).sort())
    expect(reachableFrom(indexEdges(chain), 'elsewhere')).toEqual(new Set(['elsewhere']))
  })
})
