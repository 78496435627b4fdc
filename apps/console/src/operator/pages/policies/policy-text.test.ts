import { canonicalJson } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { lineOfField, lineOfIssue, policyText, readDraft } from './policy-text.ts'
import { policyState, selectorText, summarise } from './policy-state.ts'

const GATE = { config: { max: 1 }, gate_type: 'max_value.v1', order: 0, gate_id: 'amount' }
const TEXT = policyText({ gates: [GATE, { ...GATE, gate_id: 'other' }], policy_id: 'spending' })

describe('the text of a policy', () => {
  it('has defaults and one order, so that only real differences remain', () => {
    const short = policyText({ gates: [GATE], policy_id: 'p' })
    const long = policyText({
      policy_id: 'p',
      description: '',
      selector: { capabilities: [] },
      gates: [{ ...GATE, mode: 'enforce', disclose_input: false }],
    })
    expect(short).toBe(long)
    expect(short).not.toBe(policyText({ gates: [{ ...GATE, mode: 'observe' }], policy_id: 'p' }))
    expect(Object.keys(JSON.parse(short) as object)).toEqual(['policy_id', 'description', 'selector', 'gates'])
  })

  it('is written as it is where a part has another type', () => {
    expect(JSON.parse(policyText({ selector: 7, gates: 'none' }))).toMatchObject({ selector: 7, gates: 'none' })
  })

  it('is read and written with the type of each number, as the signature has it', () => {
    const { intent = {} } = readDraft('{"a": 1.0, "b": 1, "c": 1e3, "d": 12345678901234567890, "e": [], "f": {}}')
    expect(canonicalJson(intent)).toBe('{"a":1.0,"b":1,"c":1000.0,"d":12345678901234567890,"e":[],"f":{}}')
    expect(policyText(readDraft(policyText(intent)).intent ?? {})).toBe(policyText(intent))
    expect(policyText({ a: 1 })).not.toBe(policyText(readDraft('{"a": 1.0}').intent ?? {}))
  })

  it('names the line where it is not JSON', () => {
    expect(readDraft('{\n  "a": 1,\n  oops\n}').problem?.line).toBe(3)
    expect(readDraft('[1]').problem?.line).toBe(1)
    expect(readDraft('{"a": 1,\n "a": 2}').problem).toMatchObject({ line: 2 })
    expect(readDraft('{"a": 1, "a": 2}').problem?.text).toContain('repeated')
    expect(readDraft('{"a": 1}').intent).toEqual({ a: 1 })
  })

  it('has a line for each problem of the authority', () => {
    const line = (number: number): string => TEXT.split('\n')[number - 1] ?? ''
    expect(line(lineOfIssue(TEXT, { message: 'order is used before', gate_id: 'other' }))).toContain('"other"')
    expect(line(lineOfIssue(TEXT, { message: 'policy_id: 1 to 128 characters', gate_id: null }))).toContain('policy_id')
    expect(line(lineOfIssue(TEXT, { message: 'at least one is needed', gate_id: null }))).toContain('"gates"')
    expect(lineOfField(TEXT, 'gates[1].order')).toBeGreaterThan(lineOfField(TEXT, 'gates[0].order'))
    expect(line(lineOfField(TEXT, 'gates[1].order'))).toContain('"order"')
  })
})

describe('the state of a policy', () => {
  const now = Date.parse('2027-01-01T00:00:00Z')
  const row = { active: true, integrity_ok: true, valid_until: '2027-06-01T00:00:00Z' }

  it('warns 14 days before the end, and reports a changed text first', () => {
    expect(policyState(row, now).word).toBe('In force')
    expect(policyState({ ...row, valid_until: '2027-01-10T00:00:00Z' }, now)).toMatchObject({ tone: 'watch' })
    expect(policyState({ ...row, valid_until: '2027-01-02T00:00:00Z' }, now)).toMatchObject({ tone: 'urgent' })
    expect(policyState({ ...row, valid_until: '2026-12-31T00:00:00Z' }, now)).toMatchObject({ tone: 'bad' })
    expect(policyState({ ...row, active: false }, now).word).toBe('Not in force')
    expect(policyState({ ...row, active: false, integrity_ok: false }, now).word).toBe('Text changed')
  })

  it('is that of the version in force, else of the newest', () => {
    const version = (policy_id: string, number: number, active: boolean): Parameters<typeof summarise>[0][number] => ({
      ...row,
      policy_id,
      version: number,
      active,
      policy_digest: '',
      created_at: '',
      activated_at: null,
      deactivated_at: null,
      description: null,
      valid_from: null,
      gate_count: 1,
      global: true,
    })
    const rows = [version('a', 3, false), version('a', 2, true), version('b', 2, false), version('b', 1, false)]
    expect(summarise(rows).map(({ row: shown, versions }) => [shown.policy_id, shown.version, versions])).toEqual([
      ['a', 2, 3],
      ['b', 2, 2],
    ])
  })

  it('states in words to which requests it applies', () => {
    const empty = {
      capabilities: [],
      requester_sovereign_ids: [],
      provider_sovereign_ids: [],
      agreement_ids: [],
      parent_kinds: [],
      parameter_equals: {},
    }
    expect(selectorText(empty)).toBe('every request')
    expect(selectorText({ ...empty, capabilities: ['pay.*', 'read.*'], requester_sovereign_ids: ['FJORD'] })).toBe(
      'pay.*, 1 more · requester FJORD',
    )
  })
})
