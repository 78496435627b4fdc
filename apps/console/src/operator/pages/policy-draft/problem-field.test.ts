import { describe, expect, it } from 'vitest'
import { fieldOfIssue, isAbout } from './problem-field.ts'

const DRAFT = { gates: [{ gate_id: 'a' }, { gate_id: 'b' }, { gate_id: 'a' }] }

describe('the member of a problem', () => {
  it.each([
    ['invalid_gate_config', 'config.max: a number is needed', 'b', 'gates[1].config.max'],
    ['invalid_gate_config', 'config.values[3]: a text is needed', 'b', 'gates[1].config.values[3]'],
    ['invalid_gate_config', 'config: an unknown member', 'b', 'gates[1].config'],
    ['duplicate_gate_id', 'gate_id is used before', 'a', 'gates[2].gate_id'],
    ['invalid_gate_id', 'gate_id: 1 to 64 characters', 'a', 'gates[0].gate_id'],
    ['duplicate_gate_order', 'order is used before', 'b', 'gates[1].order'],
    ['unknown_gate_type', 'gate_type is not registered here', 'b', 'gates[1].gate_type'],
    ['invalid_selector', 'capabilities: an entry is empty', null, 'selector.capabilities'],
    ['invalid_fact_path', 'parameter_equals: not a fact path', null, 'selector.parameter_equals'],
    ['invalid_policy_id', 'policy_id: 1 to 128 characters', null, 'policy_id'],
    ['no_gates', 'at least one gate is needed', null, 'gates'],
    ['a_new_code', 'something else', null, ''],
  ])('%s, %j of gate %j is %s', (code, message, gate_id, field) => {
    expect(fieldOfIssue(DRAFT, { code, message, gate_id })).toBe(field)
  })

  it('is shown at the field of the whole list, and not at a field whose name begins alike', () => {
    expect(isAbout('gates[1].config.values[3]', 'gates[1].config.values')).toBe(true)
    expect(isAbout('gates[1].config.max', 'gates[1].config.max')).toBe(true)
    expect(isAbout('gates[1].config.maximum', 'gates[1].config.max')).toBe(false)
    expect(isAbout(undefined, 'gates')).toBe(false)
  })
})
