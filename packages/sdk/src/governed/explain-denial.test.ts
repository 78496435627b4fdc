import type { BoundaryDecision, JsonObject, JustificationProof } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { denialText } from './explain-denial.ts'

const capability = 'mcp:notes:delete_note'

/** A denial of the capability gate, with the members that the text uses. */
function denied(inputs: JsonObject): Parameters<typeof denialText>[0] {
  const gate = { gate_name: 'capability_check', passed: false, detail: 'the capability is not granted' }
  return {
    capability,
    decision: {
      decision_id: 'd-1',
      authorized: false,
      operator_sovereign_id: 'HARBOUR',
      denial_reason: 'capability out of scope',
      gate_results: [gate],
    } as unknown as BoundaryDecision,
    justification: { trace: { entries: [{ ...gate, inputs }] } } as unknown as JustificationProof,
  }
}

describe('denialText of a capability that is not granted', () => {
  it('names the treaty when the partner attests the capability', () => {
    expect(denialText(denied({ capabilities: [capability], treaty_capabilities: ['mcp:notes:read_note'] }))).toBe(
      `Denied: capability out of scope (the capability is not granted). Decision d-1. Needed: a treaty of HARBOUR that grants ${capability} to the network of the caller, which an operator there signs.`,
    )
  })

  it.each<[string, JsonObject]>([
    ['of a partner without it', { capabilities: ['other'], treaty_capabilities: [capability] }],
    ['of a partner without capabilities', { capabilities: null, treaty_capabilities: null }],
    ['of the own network', { capabilities: ['other'] }],
  ])('names the attestation %s', (_case, inputs) => {
    expect(denialText(denied(inputs))).toContain(
      `Needed: an attestation of the caller with the capability ${capability}`,
    )
  })
})
