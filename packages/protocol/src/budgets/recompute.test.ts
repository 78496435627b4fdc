import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../canonical/utf8.ts'
import { instantOf } from '../reading/text.ts'
import { readBudgetEvent } from './budget-events.ts'
import { budgetKey } from './budget.ts'
import { BudgetRecomputation } from './recompute.ts'
import { windowAt } from './windows.ts'

/** The worked table of the protocol: one budget of 10000.00 EUR a month, six entries, one approval. */
const MEASURE = { kind: 'sum', path: 'request_parameters.amount', scale: 2, unit_path: 'request_parameters.currency' }
const WINDOW = { kind: 'calendar', unit: 'month' } as const
const KEY = budgetKey({
  measure: MEASURE,
  per: { requester: 'PARTNER-NET' },
  source: 'policy:payments/monthly',
  unit: 'EUR',
  window: WINDOW,
})
const APPROVAL = 'a99c0000-0000-4000-8000-00000000000a'

interface Row {
  readonly n: number
  readonly asked: string
  readonly used_before: string
  readonly reserved_before: string
  readonly passed: boolean
  readonly remaining: string
  readonly authorized?: boolean
  readonly replaces?: string
}

type Entry = readonly [sequence: number, kind: string, payload: JsonObject]

const timeOf = (n: number): string => `2026-11-0${Math.floor(n / 4)}T10:00:00Z`

function decide({
  n,
  asked,
  used_before,
  reserved_before,
  passed,
  remaining,
  authorized = true,
  replaces,
}: Row): Entry[] {
  const at = timeOf(n)
  const decision = {
    decision_id: `d-${n}`,
    authorized,
    decision_made_at: at,
    decision_valid_until: `2026-11-0${Math.floor(n / 4)}T10:05:00Z`,
    gate_results: [],
    policy_binding: { registry_gate_types: ['budget.v1'], policies: [] },
  }
  const context = {
    requester_sovereign_id: 'PARTNER-NET',
    request_parameters: { amount: asked, currency: 'EUR' },
    attributes: {},
  }
  const inputs = {
    applies: true,
    source: 'policy:payments/monthly',
    counts: 'on_allow',
    settle: null,
    budget_key: KEY,
    window: { ...windowAt(WINDOW, instantOf(at)) },
    measure: MEASURE,
    per: { requester: 'PARTNER-NET' },
    unit: 'EUR',
    limit: '10000.00',
    used_before,
    reserved_before,
    asked,
    remaining,
    replaces: replaces ?? null,
  }
  return [
    [n, 'decision', { decision, context }],
    [
      n + 1,
      'justification',
      { decision_id: `d-${n}`, trace: { entries: [{ gate_type: 'budget.v1', result: passed, inputs }] } },
    ],
  ]
}

const approval = (n: number, event: string, more: JsonObject = {}): Entry => [
  n,
  'approval',
  { approval_id: APPROVAL, event, decision_id: 'd-13', use_until: null, approval_request: null, ...more },
]

const worked = (): Entry[] => [
  ...decide({
    n: 11,
    asked: '4000.00',
    used_before: '0.00',
    reserved_before: '0.00',
    passed: true,
    remaining: '6000.00',
  }),
  ...decide({
    n: 13,
    asked: '5000.00',
    used_before: '4000.00',
    reserved_before: '0.00',
    passed: true,
    remaining: '1000.00',
    authorized: false,
  }),
  approval(15, 'requested', { approval_request: { approval_id: APPROVAL, expires_at: '2026-11-30T00:00:00Z' } }),
  ...decide({
    n: 16,
    asked: '1500.00',
    used_before: '9000.00',
    reserved_before: '5000.00',
    passed: false,
    remaining: '1000.00',
    authorized: false,
  }),
  approval(18, 'approved', { use_until: '2026-11-29T00:00:00Z' }),
  ...decide({
    n: 19,
    asked: '5000.00',
    used_before: '4000.00',
    reserved_before: '0.00',
    passed: true,
    remaining: '1000.00',
    replaces: APPROVAL,
  }),
  approval(21, 'used', { decision_id: 'd-19' }),
  ...decide({
    n: 22,
    asked: '1000.00',
    used_before: '9000.00',
    reserved_before: '0.00',
    passed: true,
    remaining: '0.00',
  }),
]

function recompute(entries: readonly Entry[], run = new BudgetRecomputation()) {
  const findings = entries.flatMap(([sequence, kind, payload]) => {
    const event = readBudgetEvent(kind, payload)
    return event === undefined ? [] : run.add(sequence, event)
  })
  return { findings, steps: run.steps, reasons: findings.map(({ reason }) => reason) }
}

/** The worked table with one member of the fourth decision changed. */
function edited(change: JsonObject): Entry[] {
  return worked().map(([n, kind, payload]): Entry => {
    if (n !== 20) return [n, kind, payload]
    const trace = payload['trace'] as { entries: { inputs: JsonObject }[] }
    const entries = trace.entries.map((entry) => ({ ...entry, inputs: { ...entry.inputs, ...change } }))
    return [n, kind, { ...payload, trace: { entries } }]
  })
}

describe('recomputation', () => {
  it('follows from the entries of the worked table', () => {
    expect(recompute(worked())).toMatchObject({ findings: [], steps: 5 })
  })

  it.each<[JsonObject, string]>([
    [{ used_before: '4000.01' }, 'budget_used_mismatch'],
    [{ reserved_before: '1.00' }, 'budget_used_mismatch'],
    [{ asked: '4999.00' }, 'budget_amount_mismatch'],
    [{ remaining: '2000.00' }, 'budget_result_mismatch'],
    [{ limit: '20000.00' }, 'budget_result_mismatch'],
    [{ budget_key: '0'.repeat(64) }, 'budget_key_mismatch'],
    [{ window: { ...windowAt(WINDOW, instantOf('2026-12-01T00:00:00Z')) } }, 'budget_window_mismatch'],
    [{ per: { requester: 'OTHER-NET' } }, 'budget_amount_mismatch'],
    [{ unit: 'USD' }, 'budget_amount_mismatch'],
    [{ settle: { executors: ['x'], seconds: 60 } }, 'budget_amount_mismatch'],
    [{ replaces: null }, 'budget_used_mismatch'],
  ])('names %j as %s', (change, reason) => {
    expect(recompute(edited(change)).reasons).toContain(reason)
  })

  it('finds an entry that was removed, and two that changed places', () => {
    const without = worked().filter(([n]) => n !== 11 && n !== 12)
    expect(recompute(without).reasons).toContain('budget_used_mismatch')
    const used = worked().findIndex(([n]) => n === 21)
    expect(recompute(worked().toSpliced(used, 1)).reasons).toContain('budget_used_mismatch')
    const all = worked()
    const swapped = [...all.slice(2, 4), ...all.slice(0, 2), ...all.slice(4)]
    expect(recompute(swapped).reasons).toContain('budget_used_mismatch')
  })

  it('says of a window that begins before the run that it is not recomputable', () => {
    const run = new BudgetRecomputation()
    run.startAt(instantOf('2026-11-02T00:00:00Z'))
    expect(new Set(recompute(worked(), run).reasons)).toEqual(new Set(['budget_not_recomputable']))
  })
})
