import { describe, expect, it } from 'vitest'
import { readColumns } from './graph.ts'
import { issuerImpact, placeInForce, treatyImpact } from './treaty-impact.ts'

/** A → B → C, a second treaty A → B that ended, D → B twice in force. */
const GRAPH = readColumns({
  sovereigns: ['A', 'B', 'C', 'D'],
  lifecycle_states: ['active', 'expiring_soon', 'expired', 'revoked', 'replaced'],
  from: [0, 0, 1, 3, 3],
  to: [1, 1, 2, 1, 1],
  state: [0, 3, 1, 0, 1],
  expiry_risks: ['none', 'low', 'medium', 'high', 'expired'],
  risk: [1, 0, 3, 1, 2],
})

/** A → B of this authority; C → B and A → C only as a partner reports them. */
const REPORTED = readColumns({
  sovereigns: ['A', 'B', 'C'],
  lifecycle_states: ['active'],
  from: [0, 2, 0],
  to: [1, 1, 2],
  state: [0, 0, 0],
  expiry_risks: ['low'],
  risk: [0, 0, 0],
  origin: [0, 1, 1],
})

describe('treaties that partners report', () => {
  it('carry no trust path, and are named apart', () => {
    expect(treatyImpact(REPORTED, 'A', 'B').text).toContain('1 trust path would be lost: A → B.')
    expect(treatyImpact(REPORTED, 'A', 'C').text).toBe('No active treaty connects A to C.')
    expect(issuerImpact(REPORTED, 'B')).toEqual({
      cut: [0, 1],
      touched: [0, 2],
      text: 'Members of B are accepted by A. Partners report that they are also accepted by C.',
    })
    expect(placeInForce(REPORTED, 'A', 'C')).toBe(2)
  })
})

describe('treatyImpact', () => {
  it('crosses the treaty out and marks every network that loses a path', () => {
    const drawn = treatyImpact(GRAPH, 'A', 'B')
    expect(drawn).toMatchObject({ cut: [0], touched: [0, 1, 2] })
    expect(drawn.text).toContain('2 trust paths would be lost: A → B, A → C.')
  })

  it('reports another treaty that still connects the two', () => {
    expect(treatyImpact(GRAPH, 'D', 'B')).toMatchObject({ touched: [] })
    expect(treatyImpact(GRAPH, 'D', 'B').text).toContain('another active treaty would still connect')
  })

  it('counts a treaty that ends within a day as active', () => {
    expect(treatyImpact(GRAPH, 'B', 'C').text).toContain('3 trust paths')
  })

  it('reports no impact without an active treaty', () => {
    expect(treatyImpact(GRAPH, 'C', 'A')).toMatchObject({ cut: [], touched: [] })
  })
})

describe('issuerImpact', () => {
  it('marks every network that accepts the issuer, each once', () => {
    const drawn = issuerImpact(GRAPH, 'B')
    expect([drawn.cut, drawn.touched]).toEqual([
      [0, 3, 4],
      [0, 3],
    ])
    expect(drawn.text).toBe('Members of B are accepted by A, D.')
  })

  it('reports when no network accepts it', () => {
    expect(issuerImpact(GRAPH, 'A').text).toBe('No network accepts members of A.')
    expect(issuerImpact(GRAPH, 'unknown')).toMatchObject({ cut: [], touched: [] })
  })
})
