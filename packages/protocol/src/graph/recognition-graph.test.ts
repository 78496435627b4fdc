// oxlint-disable max-lines -- one graph, drawn from the same records in every test
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { HOUR, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import core from '../vectors/core.json' with { type: 'json' }
import {
  buildConnectome,
  buildGraph,
  compareEdges,
  isActiveEdge,
  isRevokedEdge,
  summarize,
} from './recognition-graph.ts'
import type { ImportedRevocation, RecognitionEdge, RecognitionGraph, TreatyFact } from './recognition-graph.ts'

const NOW = readInstant('2030-01-04T00:00:00Z') ?? 0n
const IN_FORCE = { status: 'active', revoked_at: null, revocation_reason: null }

function treaty(treaty_id: string, from: string, to: string, state: Partial<TreatyFact> = {}): TreatyFact {
  return {
    treaty_id,
    issuer_sovereign_id: from,
    subject_sovereign_id: to,
    valid_from: '2030-01-01T06:00:00Z',
    expires_at: '2030-01-31T06:00:00Z',
    ...IN_FORCE,
    ...state,
  }
}

const revoked = (reason: string): Partial<TreatyFact> => ({
  status: 'revoked',
  revoked_at: '2030-01-04T00:00:00Z',
  revocation_reason: reason,
})
const endingIn = (hours: bigint): Partial<TreatyFact> => ({ expires_at: writeInstant(NOW + hours * HOUR) })

function withdrawal(issuer_sovereign_id: string, attestation_id: string, reason: string | null = null) {
  const feed = { feed_id: `feed-of-${issuer_sovereign_id}`, sequence: 7, imported_at: '2030-01-03T00:00:00Z' }
  return { issuer_sovereign_id, attestation_id, reason, ...feed } satisfies ImportedRevocation
}

function graphOf(treaties: readonly TreatyFact[], revocations: readonly ImportedRevocation[] = []): RecognitionGraph {
  return buildGraph({ treaties, revocations, signedTreaty: (treaty_id) => ({ treaty_id }), now: NOW })
}

describe('buildGraph (protocol/core 20.1)', () => {
  it('gives the worked example byte for byte', () => {
    const example = core.digests.find(({ section }) => section === '20.1')
    const { bytes = '', sha256 = '', length = 0 } = example ?? {}
    const id = '73ea7100-0000-4000-8000-000000000001'
    const graph = graphOf([treaty(id, 'EXAMPLE-NET', 'PARTNER-NET', revoked('relationship_ended'))])
    expect(canonicalJson(graph)).toBe(bytes)
    expect(canonicalJson(graph)).toHaveLength(length)
    expect(digestOf(graph)).toBe(sha256)
    expect(sha256).toBe('70545f41a9f20c9b7b237a918bf33be2c371213d502e6fa8a97f5a0aa0bfa4e1')
  })

  it('has a digest when it is empty, too', () => {
    expect(canonicalJson(graphOf([]))).toBe(
      '{"active_treaties":[],"recognition_edges":[],"revoked_trust_material":[],"sovereigns":[]}',
    )
    expect(digestOf(graphOf([]))).toBe('63971e8c90f3b65e059883ba09745e8b4c57146e78ee4d2dbbd54a02b311c331')
  })

  it('names every issuer and subject once, by code point', () => {
    const graph = graphOf([
      treaty('1', 'b', '\u{1f600}'),
      treaty('2', '\ue000', 'b'),
      treaty('3', 'B', 'a', revoked('over')),
      treaty('4', 'Zoë', '\u{1f600}', endingIn(-1n)),
    ])
    expect(graph.sovereigns.map(({ sovereign_id }) => sovereign_id)).toEqual([
      'B',
      'Zoë',
      'a',
      'b',
      '\ue000',
      '\u{1f600}',
    ])
  })

  it('returns the edges in order of issue, each with its state', () => {
    const facts = [
      treaty('z', 'B', 'A'),
      treaty('y', 'A', 'B', endingIn(72n)),
      treaty('x', 'A', 'C', endingIn(24n)),
      treaty('w', 'A', 'D', endingIn(0n)),
      treaty('v', 'A', 'E', revoked('over')),
      treaty('u', 'A', 'F', revoked('renewed_by:z')),
    ]
    const edges = graphOf(facts).recognition_edges
    expect(edges.map((edge) => [edge.treaty_id, edge.status, edge.lifecycle_state, edge.expiry_risk])).toEqual([
      ['z', 'active', 'active', 'low'],
      ['y', 'active', 'expiring_soon', 'medium'],
      ['x', 'active', 'expiring_soon', 'high'],
      ['w', 'active', 'expired', 'expired'],
      ['v', 'revoked', 'revoked', 'none'],
      ['u', 'revoked', 'replaced', 'none'],
    ])
    expect(edges[0]).toEqual({
      from: 'B',
      to: 'A',
      treaty_id: 'z',
      status: 'active',
      lifecycle_state: 'active',
      expiry_risk: 'low',
      valid_from: '2030-01-01T06:00:00Z',
      expires_at: '2030-01-31T06:00:00Z',
    })
  })

  it('shows the signed treaties that are active or expiring, and no other', () => {
    const graph = graphOf([
      treaty('z', 'B', 'A'),
      treaty('y', 'A', 'B', endingIn(1n)),
      treaty('x', 'A', 'C', endingIn(0n)),
      treaty('w', 'A', 'D', revoked('over')),
    ])
    expect(graph.active_treaties).toEqual([{ treaty_id: 'z' }, { treaty_id: 'y' }])
  })

  it('lists what was withdrawn: treaties first, then imported revocations in their order', () => {
    const graph = graphOf(
      [treaty('z', 'A', 'B', revoked('replaced_by:y')), treaty('a', 'A', 'B', revoked('over')), treaty('y', 'A', 'B')],
      [withdrawal('A', 'z-1', 'left'), withdrawal('B', 'a-1')],
    )
    const feed = { sequence: 7, revoked_at: '2030-01-03T00:00:00Z', type: 'membership_attestation' }
    const treatyEnd = { type: 'recognition_treaty', revoked_at: '2030-01-04T00:00:00Z' }
    expect(graph.revoked_trust_material).toEqual([
      { ...treatyEnd, id: 'z', lifecycle_state: 'replaced', reason: 'replaced_by:y' },
      { ...treatyEnd, id: 'a', lifecycle_state: 'revoked', reason: 'over' },
      { ...feed, id: 'z-1', issuer_sovereign_id: 'A', feed_id: 'feed-of-A', reason: 'left' },
      { ...feed, id: 'a-1', issuer_sovereign_id: 'B', feed_id: 'feed-of-B', reason: null },
    ])
  })

  it('an imported revocation alone names no sovereign', () => {
    expect(graphOf([], [withdrawal('A', '1')]).sovereigns).toEqual([])
  })

  it('has another digest when a lifecycle boundary has passed', () => {
    const facts = [treaty('z', 'A', 'B', endingIn(73n))]
    const at = (hours: bigint): string =>
      digestOf(buildGraph({ treaties: facts, revocations: [], signedTreaty: () => null, now: NOW + hours * HOUR }))
    const digests = [at(0n), at(1n), at(49n), at(73n)]
    expect(new Set(digests).size).toBe(4)
    expect(at(48n)).toBe(at(1n))
  })
})

describe('isActiveEdge and isRevokedEdge', () => {
  const edge = (status: string, lifecycle_state: string): RecognitionEdge =>
    ({ from: 'A', to: 'B', treaty_id: '1', status, lifecycle_state }) as RecognitionEdge

  it.each<[string, string, boolean, boolean]>([
    ['active', 'active', true, false],
    ['active', 'expiring_soon', true, false],
    ['active', 'expired', false, false],
    ['suspended', 'active', false, false],
    ['suspended', 'expired', false, false],
    ['revoked', 'revoked', false, true],
    ['revoked', 'replaced', false, true],
    ['revoked', 'active', false, true],
    ['active', 'revoked', false, true],
    ['active', 'replaced', false, true],
  ])('stored as %s and %s', (status, lifecycle, isActive, isRevoked) => {
    expect([isActiveEdge(edge(status, lifecycle)), isRevokedEdge(edge(status, lifecycle))]).toEqual([
      isActive,
      isRevoked,
    ])
  })
})

describe('buildConnectome (protocol/core 20.2)', () => {
  it('sorts edges by from, to and treaty, each by code point', () => {
    const pairs = [
      ['2', '\u{1f600}', 'A'],
      ['1', '\ue000', 'A'],
      ['b', 'A', 'B'],
      ['a', 'A', 'B'],
      ['\u{1f600}', 'A', 'B'],
      ['\ue000', 'A', 'B'],
      ['9', 'A', '\u{1f600}'],
      ['9', 'A', '\ue000'],
      ['10', 'A', 'a'],
      ['9', 'A', 'a'],
    ] as const
    const connectome = buildConnectome(graphOf(pairs.map(([id, from, to]) => treaty(id, from, to))))
    const edges = connectome['recognition_edges'] as unknown as RecognitionEdge[]
    expect(edges.map(({ from, to, treaty_id }) => [from, to, treaty_id])).toEqual([
      ['A', 'B', 'a'],
      ['A', 'B', 'b'],
      ['A', 'B', '\ue000'],
      ['A', 'B', '\u{1f600}'],
      ['A', 'a', '10'],
      ['A', 'a', '9'],
      ['A', '\ue000', '9'],
      ['A', '\u{1f600}', '9'],
      ['\ue000', 'A', '1'],
      ['\u{1f600}', 'A', '2'],
    ])
  })

  it('sorts withdrawn material by type and id', () => {
    const connectome = buildConnectome(
      graphOf(
        [treaty('b', 'A', 'B', revoked('over')), treaty('a', 'A', 'B', revoked('over'))],
        [withdrawal('A', '\u{1f600}'), withdrawal('B', 'a'), withdrawal('C', '\ue000')],
      ),
    )
    const material = connectome['revoked_trust_material'] as JsonObject[]
    expect(material.map(({ type, id }) => [type, id])).toEqual([
      ['membership_attestation', 'a'],
      ['membership_attestation', '\ue000'],
      ['membership_attestation', '\u{1f600}'],
      ['recognition_treaty', 'a'],
      ['recognition_treaty', 'b'],
    ])
  })

  it('says for each imported revocation who accepts its issuer now', () => {
    const connectome = buildConnectome(
      graphOf(
        [
          treaty('1', 'Z', 'P'),
          treaty('2', '\u{1f600}', 'P', endingIn(1n)),
          treaty('3', '\ue000', 'P'),
          treaty('4', 'Z', 'P'),
          treaty('5', 'GONE', 'P', revoked('over')),
          treaty('6', 'PAST', 'P', endingIn(0n)),
          treaty('7', 'OTHER', 'Q'),
        ],
        [withdrawal('P', 'p-2', 'left'), withdrawal('P', 'p-1'), withdrawal('NOBODY', 'n-1')],
      ),
    )
    const shared = { type: 'membership_attestation', sequence: 7, revoked_at: '2030-01-03T00:00:00Z' }
    const affected = ['Z', '\ue000', '\u{1f600}']
    expect(connectome['revocation_blast_radius']).toEqual([
      {
        ...shared,
        id: 'n-1',
        issuer_sovereign_id: 'NOBODY',
        affected_accepting_sovereigns: [],
        feed_id: 'feed-of-NOBODY',
        reason: null,
      },
      {
        ...shared,
        id: 'p-1',
        issuer_sovereign_id: 'P',
        affected_accepting_sovereigns: affected,
        feed_id: 'feed-of-P',
        reason: null,
      },
      {
        ...shared,
        id: 'p-2',
        issuer_sovereign_id: 'P',
        affected_accepting_sovereigns: affected,
        feed_id: 'feed-of-P',
        reason: 'left',
      },
    ])
  })

  it('has exactly the members of its table and leaves the graph as it was', () => {
    const graph = graphOf([treaty('b', 'B', 'A'), treaty('a', 'A', 'B', revoked('over'))], [withdrawal('A', '1')])
    const before = canonicalJson(graph)
    expect(Object.keys(buildConnectome(graph)).sort()).toEqual([
      'active_treaties',
      'recognition_edges',
      'revocation_blast_radius',
      'revoked_trust_material',
      'sovereigns',
      'summary',
    ])
    expect(canonicalJson(graph)).toBe(before)
  })
})

describe('summarize', () => {
  it('counts what the graph holds', () => {
    const facts = [
      treaty('1', 'A', 'B'),
      treaty('2', 'A', 'B', endingIn(1n)),
      treaty('3', 'A', 'C', endingIn(0n)),
      treaty('4', 'C', 'D', revoked('over')),
      treaty('5', 'C', 'D', revoked('renewed_by:1')),
      treaty('6', 'C', 'E', { status: 'suspended' }),
    ]
    expect(summarize(graphOf(facts, [withdrawal('A', '1'), withdrawal('A', '2')]))).toEqual({
      sovereign_count: 5,
      recognition_edge_count: 6,
      active_edge_count: 2,
      revoked_edge_count: 2,
      revoked_trust_material_count: 4,
      imported_revocation_count: 2,
    })
  })

  it('of nothing is all zeros', () => {
    expect(Object.values(summarize(graphOf([])))).toEqual([0, 0, 0, 0, 0, 0])
  })
})

describe('compareEdges', () => {
  it('orders like the code points of from, to and treaty one after the other', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '\ue000', '\u{1f600}'), maxLength: 2 })
    const edge = fc.record({ from: name, to: name, treaty_id: name }) as unknown as fc.Arbitrary<RecognitionEdge>
    // Padded so that a prefix is smaller than what it begins.
    const key = ({ from, to, treaty_id }: RecognitionEdge): string =>
      [from, to, treaty_id]
        .map((text) => [...text].map((point) => String(point.codePointAt(0)).padStart(8, '0')).join('') + '-')
        .join('')
    fc.assert(
      fc.property(edge, edge, (a, b) => {
        const expected = key(a) === key(b) ? 0 : key(a) < key(b) ? -1 : 1
        expect(Math.sign(compareEdges(a, b))).toBe(expected)
      }),
    )
  })
})
