import { describe, expect, it } from 'vitest'
import type { RecognitionEdge } from './recognition-graph.ts'
import { findTrust } from './trust-finding.ts'
import { indexEdges } from './trust-index.ts'

function edge(from: string, to: string, change: Partial<RecognitionEdge> = {}): RecognitionEdge {
  return {
    from,
    to,
    treaty_id: `${from}-${to}`,
    status: 'active',
    lifecycle_state: 'active',
    expiry_risk: 'none',
    valid_from: '2027-01-01T00:00:00Z',
    expires_at: '2028-01-01T00:00:00Z',
    ...change,
  }
}

function find(edges: readonly RecognitionEdge[], withdrawn: Readonly<Record<string, number>> = {}, target = 'c') {
  const trust = { index: indexEdges(edges), withdrawals: (issuer: string) => withdrawn[issuer] ?? 0 }
  return findTrust(trust, { source: 'a', target }, '2027-03-04T05:06:07Z')
}
const soon = { lifecycle_state: 'expiring_soon' } as const

describe('what the graph says about a sovereign', () => {
  it('an active path allows', () => {
    const finding = find([edge('a', 'b'), edge('b', 'c')])
    expect(finding).toMatchObject({
      source_sovereign_id: 'a',
      target_sovereign_id: 'c',
      verdict: 'allow',
      reason: 'active_treaty_path',
      requested_roles: [],
      trusted: true,
      hop_count: 2,
      evaluated_at: '2027-03-04T05:06:07Z',
    })
    expect(finding.signals.map(({ code, severity }) => [code, severity])).toEqual([['active_treaty_path', 'info']])
  })

  it.each<[string, RecognitionEdge[], string]>([
    ['no edge', [], 'no_active_treaty_path'],
    ['only the other way', [edge('c', 'a')], 'no_active_treaty_path'],
    ['a revoked treaty', [edge('a', 'c', { status: 'revoked', lifecycle_state: 'revoked' })], 'direct_treaty_revoked'],
    [
      'a replaced treaty',
      [edge('a', 'c', { status: 'revoked', lifecycle_state: 'replaced' })],
      'direct_treaty_revoked',
    ],
    ['an expired treaty', [edge('a', 'c', { lifecycle_state: 'expired' })], 'no_active_treaty_path'],
  ])('%s blocks', (_name, edges, reason) => {
    expect(find(edges)).toMatchObject({
      verdict: 'block',
      reason,
      trusted: false,
      hop_count: 0,
      signals: [{ code: reason, severity: 'block', detail: '' }],
    })
  })

  it('no sovereign has a path to itself', () => {
    expect(find([edge('a', 'b'), edge('b', 'a')], {}, 'a')).toMatchObject({ verdict: 'block', trusted: false })
  })

  it('warns once for each expiring treaty', () => {
    const finding = find([edge('a', 'b', soon), edge('b', 'c', soon)])
    expect(finding).toMatchObject({ verdict: 'warn', reason: 'treaty_expiring_soon', trusted: true, hop_count: 2 })
    expect(finding.signals.map(({ severity }) => severity)).toEqual(['warn', 'warn'])
  })

  it('withdrawn attestations of anyone on the path escalate, over a warning', () => {
    const finding = find([edge('a', 'b', soon), edge('b', 'c')], { b: 2, elsewhere: 5 })
    expect(finding).toMatchObject({ verdict: 'escalate', reason: 'recognition_under_revocation_pressure' })
    expect(finding.signals.map(({ severity }) => severity)).toEqual(['escalate', 'escalate', 'warn'])
  })

  it('never writes more signals than a record may hold', () => {
    expect(find([edge('a', 'c', soon)], { c: 100_000 }).signals).toHaveLength(1009)
  })
})
