import { describe, expect, it } from 'vitest'
import * as protocol from '../index.ts'
import { checkPolicyVectors } from './check-policy-vectors.ts'
import vectors from './policies.json' with { type: 'json' }

describe('golden vectors of boundary policies', () => {
  it('all hold', async () => {
    const { passed, failures } = await checkPolicyVectors(vectors, protocol)
    expect(failures).toEqual([])
    // A missing vector must be detected: the figure changes only together with policies.json.
    expect(passed).toBe(88)
  })

  it('notice an engine that is wrong', async () => {
    const broken = {
      ...protocol,
      digestOf: () => '',
      evaluateBoundary: (question: protocol.BoundaryQuestion) =>
        protocol.evaluateBoundary({ ...question, policies: [] }),
      GATE_TYPES: new Map(
        [...protocol.GATE_TYPES].map(([name, type]) => [
          name,
          {
            ...type,
            prepare: (config: protocol.JsonObject) => () => ({
              ...type.prepare(config)(NOTHING, { gate_name: 'vector/gate', isDenied: false }),
              outcome: 'pass',
            }),
          },
        ]),
      ) as protocol.GateRegistry,
    }
    const { failures } = await checkPolicyVectors(vectors, broken)
    for (const part of ['E5 context', 'E11 binding', '5.8 max_value.v1'])
      expect(failures.some((failure) => failure.includes(part))).toBe(true)
  })
})

const NOTHING: protocol.Facts = {
  context: {
    agreement_id: 'a',
    parent_kind: 'direct',
    requester_sovereign_id: 'r',
    provider_sovereign_id: 'p',
    requested_capability: 'c',
    request_parameters: {},
    requested_at: '2027-03-04T05:06:07Z',
    context_freshness_seq: 0,
    attributes: {},
  },
  attestation: undefined,
}
