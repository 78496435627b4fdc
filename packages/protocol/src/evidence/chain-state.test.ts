import { describe, expect, it } from 'vitest'
import { DecisionChains, type StoredDecision } from './chain-state.ts'

const decision = (at: number): StoredDecision => ({
  decision_id: `d-${at}`,
  authorized: at % 2 === 0,
  decision_made_at: '2027-03-04T05:06:07Z',
  decision_valid_until: `2027-03-04T05:11:07.${String(at).padStart(6, '0')}Z`,
  context_id: 'ü'.repeat(at % 50),
  vendor_id: at % 3 === 0 ? null : `vendor-${at % 7}`,
  attestation_id: null,
  capability: 'secret.rotate',
})

const digest = (at: number): string => at.toString(16).padStart(64, '0')

describe('DecisionChains', () => {
  it('gives back every decision and the end of its chain, however many there are', () => {
    const chains = new DecisionChains()
    const count = 20_000
    for (let at = 0; at < count; at += 1) {
      chains.add(decision(at))
      if (at % 2 === 0) chains.advance(`d-${at}`, 1, digest(at))
      if (at % 4 === 0) chains.advance(`d-${at}`, 2, digest(at + 7))
    }
    for (let at = 0; at < count; at += 1) {
      expect(chains.find(`d-${at}`)).toEqual(decision(at))
      const end = at % 4 === 0 ? { sequence: 2, digest: digest(at + 7) } : { sequence: 1, digest: digest(at) }
      expect(chains.position(`d-${at}`)).toEqual(at % 2 === 0 ? end : undefined)
    }
  })

  it('has the chain of a decision outside the run', () => {
    const chains = new DecisionChains()
    expect(chains.position('elsewhere')).toBeUndefined()
    chains.advance('elsewhere', 5, digest(1))
    expect(chains.position('elsewhere')).toEqual({ sequence: 5, digest: digest(1) })
    expect(chains.find('elsewhere')).toBeUndefined()
  })
})
