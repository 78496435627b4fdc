import { describe, expect, it } from 'vitest'
import { type BoundaryPolicyIntent, EMPTY_SELECTOR, type GateSpec } from '../artifacts/boundary-policy.ts'
import { JsonFloat, type JsonObject } from '../canonical/utf8.ts'
import { draft, gate } from './policies.suite.ts'
import { readPolicyIntent } from './policy-intent.ts'
import { findPolicyIssues } from './validate-policy.ts'

const codesOf = (members: Partial<BoundaryPolicyIntent>): string[] =>
  findPolicyIssues({ ...draft(), ...members }).map((issue) => issue.code)
const config = (gate_type: string, given: JsonObject): Partial<BoundaryPolicyIntent> => ({
  gates: [gate({ gate_type, config: given })],
})
const P = 'request_parameters.v'
const deep = (count: number): string => ['request_parameters', ...Array<string>(count).fill('a')].join('.')
const select = (members: Partial<typeof EMPTY_SELECTOR>): Partial<BoundaryPolicyIntent> => ({
  selector: { ...EMPTY_SELECTOR, ...members },
})

describe('issues of a policy', () => {
  it.each<[Partial<BoundaryPolicyIntent>]>([
    [{}],
    [{ policy_id: 'A-z0.9_:-'.padEnd(128, 'x') }],
    [{ gates: Array.from({ length: 64 }, (_, order) => gate({ gate_id: `g${order}`, order })) }],
    [config('max_value.v1', { path: P, max: 1 })],
    [config('max_value.v1', { path: deep(7), max: new JsonFloat(1.5), inclusive: false })],
    [config('max_value.v1', { path: P, max: 2n ** 64n - 1n })],
    [config('allowlist.v1', { path: P, values: ['a', 1, true, null, new JsonFloat(2)] })],
    [config('denylist.v1', { path: 'requested_capability', values: ['a'] })],
    [config('boolean_required.v1', { path: 'attributes.x', expected: false })],
    [config('scope_membership.v1', { path: 'attestation.roles', allowed: ['r'] })],
    [config('time_window.v1', { weekdays: [7], utc_hour_start: 0, utc_hour_end: 24 })],
    [config('attestation_claim.v1', { path: 'attestation.claims.a.b', claim: 'x' })],
    [
      select({
        capabilities: ['a', 'a.*', 'a.b.*'],
        parent_kinds: ['agreement', 'delegation', 'direct', 'attestation'],
      }),
    ],
    [select({ parameter_equals: { [P]: [null] } })],
  ])('are none: case %#', (members) => {
    expect(codesOf(members)).toEqual([])
  })

  it.each<[string, Partial<BoundaryPolicyIntent>]>([
    ['invalid_policy_id', { policy_id: 'a b' }],
    ['invalid_policy_id', { policy_id: 'x'.repeat(129) }],
    ['invalid_validity_window', { valid_until: draft().valid_from }],
    ['no_gates', { gates: [] }],
    ['too_many_gates', { gates: Array.from({ length: 65 }, (_, order) => gate({ gate_id: `g${order}`, order })) }],
    ['invalid_gate_id', { gates: [gate({ gate_id: 'Big' })] }],
    ['invalid_gate_id', { gates: [gate({ gate_id: 'x'.repeat(65) })] }],
    ['invalid_order', { gates: [gate({ order: -1 })] }],
    ['unknown_gate_type', config('nothing.v1', {})],
    ['invalid_gate_config', config('nothing.v1', { pad: 'x'.repeat(16_400) })],
    ['invalid_gate_config', config('required_parameter.v1', {})],
    ['invalid_gate_config', config('required_parameter.v1', { path: P, other: 1 })],
    ['invalid_gate_config', config('required_parameter.v1', { path: deep(8) })],
    ['invalid_gate_config', config('required_parameter.v1', { path: 'request_parameters' })],
    ['invalid_gate_config', config('required_parameter.v1', { path: 'requested_capability.x' })],
    ['invalid_gate_config', config('required_parameter.v1', { path: 'attestation.claims' })],
    ['invalid_gate_config', config('required_parameter.v1', { path: 'attestation.roles.x' })],
    ['invalid_gate_config', config('required_parameter.v1', { path: 'constructor' })],
    ['invalid_gate_config', config('max_value.v1', { path: P, max: 'ten' })],
    ['invalid_gate_config', config('max_value.v1', { path: P, max: true })],
    ['invalid_gate_config', config('min_value.v1', { path: P, min: null })],
    ['invalid_gate_config', config('max_value.v1', { path: P, max: 1, inclusive: 1 })],
    ['invalid_gate_config', config('allowlist.v1', { path: P, values: [] })],
    ['invalid_gate_config', config('allowlist.v1', { path: P, values: Array<number>(257).fill(1) })],
    ['invalid_gate_config', config('denylist.v1', { path: P, values: [[1]] })],
    ['invalid_gate_config', config('boolean_required.v1', { path: P, expected: 1 })],
    ['invalid_gate_config', config('scope_membership.v1', { path: P, allowed: [1] })],
    ['invalid_gate_config', config('time_window.v1', {})],
    ['invalid_gate_config', config('time_window.v1', { utc_hour_start: 8 })],
    ['invalid_gate_config', config('time_window.v1', { utc_hour_start: 8, utc_hour_end: 8 })],
    ['invalid_gate_config', config('time_window.v1', { utc_hour_start: 0, utc_hour_end: 25 })],
    ['invalid_gate_config', config('time_window.v1', { weekdays: [0] })],
    ['invalid_gate_config', config('time_window.v1', { weekdays: [] })],
    ['invalid_gate_config', config('time_window.v1', { not_before: '2027-01-01T00:00:00' })],
    [
      'invalid_gate_config',
      config('time_window.v1', { not_before: '2028-01-01T00:00:00Z', not_after: '2027-01-01T00:00:00Z' }),
    ],
    ['invalid_gate_config', config('attestation_claim.v1', { path: P, claim: 'a.b' })],
    ...['*', 'a*', '.*', 'a.*.b', 'a.**', '*.a', ''].map((entry): [string, Partial<BoundaryPolicyIntent>] => [
      'invalid_selector',
      select({ capabilities: [entry] }),
    ]),
    ['invalid_selector', select({ requester_sovereign_ids: [''] })],
    ['invalid_selector', select({ parent_kinds: ['friend'] })],
    ['invalid_selector', select({ parameter_equals: { [P]: [] } })],
    ['invalid_fact_path', select({ parameter_equals: { 'request_parameters..a': [1] } })],
  ])('are %s alone: case %#', (code, members) => {
    expect(codesOf(members)).toEqual([code])
  })

  it('come in order: policy, gates as sent, selector; gates are named', () => {
    const gates: GateSpec[] = [gate({ gate_type: 'no.v1' }), gate({ order: 0, gate_id: 'Q' }), gate({ order: -3 })]
    const issues = findPolicyIssues({ ...draft(), policy_id: '', gates, ...select({ capabilities: ['*'] }) })
    expect(issues.map(({ code, gate_id }) => [code, gate_id])).toEqual([
      ['invalid_policy_id', undefined],
      ['unknown_gate_type', 'present'],
      ['duplicate_gate_order', 'Q'],
      ['invalid_gate_id', 'Q'],
      ['duplicate_gate_id', 'present'],
      ['invalid_order', 'present'],
      ['invalid_selector', undefined],
    ])
  })

  it('never repeat a value the caller sent', () => {
    const issues = findPolicyIssues({ ...draft(), ...config('max_value.v1', { 'canary-7': 1 }) })
    expect(issues).toHaveLength(1)
    expect(JSON.stringify(issues)).not.toContain('canary-7')
  })
})

describe('an intent', () => {
  const body: JsonObject = {
    policy_id: 'p',
    valid_from: '2027-01-01T02:00:00+02:00',
    valid_until: '2028-01-01T00:00:00.5-01:00',
    gates: [{ gate_id: 'g', gate_type: 't.v1', order: 3 }],
  }

  it('is read with every default written out and its window in UTC', () => {
    expect(readPolicyIntent('p', body)).toEqual({
      ok: true,
      windowHasOffsets: true,
      intent: {
        policy_id: 'p',
        description: '',
        valid_from: '2027-01-01T00:00:00Z',
        valid_until: '2028-01-01T01:00:00.500000Z',
        selector: EMPTY_SELECTOR,
        gates: [{ gate_id: 'g', gate_type: 't.v1', order: 3, mode: 'enforce', config: {}, disclose_input: false }],
      },
    })
  })

  it('reports a window without an offset as an issue, not as a wrong type', () => {
    const reading = readPolicyIntent('p', { ...body, valid_from: '2027-01-01T00:00:00' })
    expect(reading.ok && reading.windowHasOffsets).toBe(false)
    expect(reading.ok && findPolicyIssues(reading.intent, reading).map(({ code }) => code)).toContain(
      'invalid_validity_window',
    )
  })

  it('reports every problem with its path', () => {
    const reading = readPolicyIntent('p', {
      ...body,
      description: 5,
      valid_from: 'soon',
      selector: { capabilities: 'x', extra: [] },
      gates: [{ gate_id: 1, gate_type: 't', order: true, mode: 'warn' }, 'x', { gate_id: 'a', gate_type: 'b' }],
    })
    expect(reading.ok ? [] : reading.errors.map(({ field }) => field)).toEqual([
      'selector.capabilities',
      'selector',
      'gates[0].gate_id',
      'gates[0].order',
      'gates[0].mode',
      'gates[1]',
      'gates[2].order',
      'valid_from',
      'description',
    ])
  })

  it('reports at most 16 problems', () => {
    const reading = readPolicyIntent('p', { ...body, gates: Array<number>(100).fill(1) })
    expect(reading.ok ? 0 : reading.errors.length).toBe(16)
  })
})
