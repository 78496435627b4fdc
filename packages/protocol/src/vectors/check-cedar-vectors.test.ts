import { describe, expect, it } from 'vitest'
import * as protocol from '../index.ts'
import vectors from './cedar.json' with { type: 'json' }
import { type CedarVectors, checkCedarVectors } from './check-cedar-vectors.ts'

const cedar: CedarVectors = vectors

describe('golden vectors of cedar.v1', () => {
  it('all hold', () => {
    const { passed, failures } = checkCedarVectors(cedar, protocol)
    expect(failures).toEqual([])
    // A missing vector must be detected: the figure changes only together with cedar.json.
    expect(passed).toBe(75)
  })

  it('name the texts by their digests', () => {
    for (const { config, policy_set } of cedar.cases) {
      const { policy_set_digest, schema_digest } = protocol.readJson(config) as { [name: string]: unknown }
      expect(policy_set_digest).toBe(protocol.sha256Hex(cedar.policy_sets[policy_set] ?? ''))
      expect(schema_digest).toBe(protocol.sha256Hex(cedar.schema))
    }
  })

  it('notice a gate that passes what Cedar could not evaluate, and one that records other rules', () => {
    const type = protocol.GATE_TYPES.get('cedar.v1')
    if (type === undefined) throw new Error('cedar.v1 is not registered')
    const broken: protocol.GateType = {
      ...type,
      prepare: (config) => (facts, situation) => {
        const reading = type.prepare(config)(facts, situation)
        const outcome = reading.outcome === 'gate_error' ? 'pass' : reading.outcome
        return { ...reading, outcome, inputs: { ...reading.inputs, reason: [] } }
      },
    }
    const GATE_TYPES = new Map([...protocol.GATE_TYPES, ['cedar.v1', broken]]) as protocol.GateRegistry
    const { failures } = checkCedarVectors(cedar, { ...protocol, GATE_TYPES })
    for (const part of ['without it: outcome', 'a permit applies: inputs'])
      expect(failures.some((failure) => failure.includes(part))).toBe(true)
  })
})
