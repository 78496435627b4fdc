import { GATE_TYPE_NAMES } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, GateTraceEntry, JsonObject } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { LIMIT_TYPES, outcomeState, parametersText, ruleText, storyText, whyText } from './decisions.ts'
import { CHECK_WORDS, type CheckLine, sumText } from './proofs.ts'

const PASSED = { gate_name: 'capability_check', passed: true, detail: 'ok' }
const FAILED = { gate_name: 'spending/amount', passed: false, detail: 'the number is beyond the limit' }
const EVALUATION = {
  policy_id: 'spending',
  policy_version: 2,
  gate_id: 'amount',
  gate_type: 'max_value.v1',
  order: 1,
  mode: 'enforce',
  passed: false,
  outcome: 'fail',
}

function decisionOf(more: Partial<BoundaryDecision> = {}, mode = 'enforce'): BoundaryDecision {
  return {
    authorized: false,
    denial_reason: "policy gate 'spending/amount' failed",
    gate_results: [PASSED, FAILED],
    policy_binding: {
      policies: [{ policy_id: 'spending', version: 2, policy_digest: 'd', signed_by: 'k' }],
      gate_evaluations: [{ ...EVALUATION, mode }],
    },
    ...more,
  } as unknown as BoundaryDecision
}

function traceOf(inputs: JsonObject, type = 'max_value.v1', outcome = 'fail'): GateTraceEntry {
  const metadata = { policy_id: 'spending', policy_version: 2, outcome }
  const text = { evaluated_at: '2030-01-01T00:00:00Z', reason: 'the number is beyond the limit' }
  return { gate_name: 'spending/amount', gate_type: type, inputs, result: false, metadata, ...text }
}

const CONTEXT = { parent_kind: 'attestation' } as ContextRecord
const MAX = { path: 'request_parameters.amount', condition: { operator: '<=', max: 1000 } }

describe('whyText', () => {
  it('names the gate that denied and its finding', () => {
    expect(whyText(decisionOf())).toBe('spending/amount: the number is beyond the limit')
  })

  it('removes the code in front of the finding of a built-in gate', () => {
    const revoked = { gate_name: 'attestation_status', passed: false, detail: 'attestation_revoked: it was withdrawn' }
    const decision = decisionOf({ gate_results: [revoked] })
    expect(whyText(decision)).toBe('attestation_status: it was withdrawn')
  })

  it('counts the gates of an allowed decision, and the observed ones that failed', () => {
    const allowed = { authorized: true, denial_reason: null }
    expect(whyText(decisionOf({ ...allowed, gate_results: [PASSED, PASSED] }, 'enforce'))).toBe('all 2 gates passed')
    expect(whyText(decisionOf(allowed, 'observe'))).toBe('passed, 1 observed')
  })
})

describe('storyText', () => {
  it('states the limit of the policy that denied', () => {
    const text = storyText(decisionOf(), CONTEXT, [traceOf(MAX)])
    expect(text).toBe('The attestation grants it, but policy spending version 2 allows amount up to 1000.')
  })

  it('states that a parameter is missing', () => {
    const text = storyText(decisionOf(), CONTEXT, [traceOf(MAX, 'max_value.v1', 'missing_context')])
    expect(text).toContain('needs amount, which the request does not have')
  })

  it('states what is left of a budget, that an approval is needed, and otherwise the reason', () => {
    const story = (inputs: JsonObject, type: string, outcome: string): string =>
      storyText(decisionOf(), CONTEXT, [traceOf(inputs, type, outcome)])
    const budget = { budget_key: 'k', limit: '100', remaining: '10' }
    expect(story(budget, 'budget.v1', 'fail')).toMatch(/ version 2 has a budget with only 10 of 100 left\.$/)
    expect(story(budget, 'budget.v1', 'missing_context')).toMatch(/ does not allow it: the number is beyond/)
    expect(story({}, 'approval.v1', 'pending')).toMatch(/ version 2 needs an approval first\.$/)
    expect(story({}, 'approval.v1', 'fail')).toMatch(/ does not allow it: the number is beyond/)
  })

  it('names the policies that allow a request', () => {
    const decision = decisionOf({ authorized: true, denial_reason: null, gate_results: [PASSED] })
    expect(storyText(decision, CONTEXT, [])).toBe('The attestation grants it. Policy spending 2 allows it.')
  })

  it('has a sentence for every registered type of gate', () => {
    expect([...LIMIT_TYPES].sort()).toEqual(GATE_TYPE_NAMES.map((name) => name.replace(/\.v[0-9]+$/, '')))
  })
})

describe('ruleText', () => {
  it('shows rules and source of gates that ask by digest, with their answer', () => {
    const cedar = { policy_set_digest: 'ab'.repeat(32), reason: ['few', 'never'] }
    expect(ruleText(traceOf(cedar, 'cedar.v1'))).toBe('Cedar rules abababababab: few, never')
    const silent = { policy_set_digest: 'ab'.repeat(32), failure: 'time_limit' }
    expect(ruleText(traceOf(silent, 'cedar.v1'))).toBe('Cedar rules abababababab: time_limit')
    const fact = { origin: 'https://opa.example', question_digest: 'cd'.repeat(32), answer: false }
    expect(ruleText(traceOf(fact, 'external_fact.v1'))).toBe('https://opa.example, question cdcdcdcdcdcd: false')
    expect(ruleText(traceOf({}, 'external_fact.v1'))).toContain('no answer')
  })

  it('shows the numbers of a budget, and what an approval is for', () => {
    const budget = { budget_key: 'k', limit: '100', unit: 'EUR', used_before: '90', asked: '20' }
    const inputs = { ...budget, window: { name: 'day:2026-11-18' } }
    expect(ruleText(traceOf(inputs, 'budget.v1'))).toBe('90 used and 20 asked of 100 EUR in day:2026-11-18')
    expect(ruleText(traceOf({ ...inputs, unit: null }, 'TreatyBudgetGate'))).toContain('of 100 in day')
    expect(ruleText(traceOf({ ...inputs, budget_key: null, asked: null }, 'budget.v1'))).toBe('a budget')
    expect(ruleText(traceOf({ title: 'Large payment' }, 'approval.v1'))).toBe('approval: Large payment')
  })

  it('writes the condition of a gate in one line', () => {
    expect(ruleText(traceOf(MAX))).toBe('request_parameters.amount ≤ 1000')
    const listed = { path: 'request_parameters.port', condition: { allowed: ['A', 'B'] } }
    expect(ruleText(traceOf(listed, 'allowlist.v1'))).toBe('request_parameters.port is one of A, B')
  })

  it('describes a built-in gate, and shows the type of an unknown one', () => {
    const builtIn = { ...traceOf({}), gate_name: 'capability_check', gate_type: 'CapabilityGate' }
    expect(ruleText(builtIn)).toBe('the capability is granted')
    expect(ruleText({ ...builtIn, gate_name: 'later_check' })).toBe('CapabilityGate')
  })
})

describe('other words', () => {
  it('shorten a long list of parameters', () => {
    expect(parametersText({ amount: 1, to: 'x', by: { a: 1 } }, 2)).toBe('amount = 1, to = x, …')
  })

  it('show an unknown outcome as it is', () => {
    expect(outcomeState('denied')).toMatchObject({ shape: 'square', word: 'Denied' })
    expect(outcomeState('later')).toMatchObject({ shape: 'dash', word: 'later' })
  })

  it('count the checks that passed, and failures first', () => {
    const line = (status: CheckLine['status']): CheckLine => ({ name: 'context', status, detail: '' })
    expect(sumText([line('passed'), line('waits')])).toBe('1 of 2 passed')
    expect(sumText([line('passed'), line('failed')])).toBe('1 of 2 failed')
    expect(Object.keys(CHECK_WORDS)).toHaveLength(10)
  })
})
