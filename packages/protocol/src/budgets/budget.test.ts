import { describe, expect, it } from 'vitest'
import { readJson } from '../canonical/read-json.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { Facts } from '../boundary/facts.ts'
import { FormError } from '../reading/schema.ts'
import { CounterNotes } from './budget-use.ts'
import { runBudget } from './budget-step.ts'
import { budgetKey, readBudgetConfig } from './budget.ts'
import { overlaps, treatyBudgets } from './treaty-budgets.ts'

const json = (text: string): JsonObject => readJson(text) as JsonObject

const MONTHLY = json(`{"measure":{"kind":"sum","path":"request_parameters.amount","scale":2,
  "unit_path":"request_parameters.currency"},"limits":{"EUR":"10000.00","USD":"11000.00"},
  "window":{"kind":"calendar","unit":"month"},"per":["requester"]}`)
const COUNT = json(
  '{"measure":{"kind":"count"},"limit":20,"window":{"kind":"rolling","seconds":3600},"per":["subject"]}',
)

const CONTEXT = {
  agreement_id: 'a',
  parent_kind: 'attestation',
  requester_sovereign_id: 'PARTNER-NET',
  provider_sovereign_id: 'EXAMPLE-NET',
  requested_capability: 'payment.send',
  request_parameters: json('{"amount":"7.50","currency":"EUR"}'),
  requested_at: '2026-11-18T16:20:30Z',
  context_freshness_seq: 0,
  attributes: {},
}
const factsWith = (change: Partial<typeof CONTEXT> = {}, more: Partial<Facts> = {}): Facts => ({
  context: { ...CONTEXT, ...change },
  attestation: undefined,
  ...more,
})

describe('the key of a counter', () => {
  it('is that of the example', () => {
    expect(
      budgetKey({
        measure: MONTHLY['measure'] as JsonObject,
        per: { requester: 'PARTNER-NET' },
        source: 'policy:payments/monthly',
        unit: 'EUR',
        window: { kind: 'calendar', unit: 'month' },
      }),
    ).toBe('09b5a2fae0abb4e3e40d6785384d43c338635b3664b7096427928af046a79238')
  })

  it('depends on neither limit nor counts: a new version continues', () => {
    const keyOf = (config: JsonObject): string | undefined => {
      const notes = new CounterNotes()
      runBudget(readBudgetConfig(config), 'policy:p/g', factsWith({}, { budgets: notes }))
      return [...notes.asked.keys()][0]
    }
    const key = keyOf(MONTHLY)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(keyOf({ ...MONTHLY, limits: { EUR: '1' }, visible: true })).toBe(key)
    expect(keyOf({ ...MONTHLY, window: { kind: 'calendar', unit: 'day' } })).not.toBe(key)
  })
})

describe('a config', () => {
  it.each<[string, JsonObject]>([
    ['another measure', { ...COUNT, measure: { kind: 'mean' } }],
    ['a count with a path', { ...COUNT, measure: { kind: 'count', path: 'request_parameters.x' } }],
    [
      'a scale above 6',
      json(
        '{"measure":{"kind":"sum","path":"request_parameters.x","scale":7},"limit":1,"window":{"kind":"calendar","unit":"day"}}',
      ),
    ],
    ['a limit of zero', { ...COUNT, limit: 0 }],
    ['a limit with an exponent', { ...COUNT, limit: '1e3' }],
    ['a limit finer than the scale', { ...COUNT, limit: '1.5' }],
    [
      'a limit that is a double',
      json('{"measure":{"kind":"count"},"limit":10.5,"window":{"kind":"calendar","unit":"day"}}'),
    ],
    ['both limits', { ...MONTHLY, limit: 1 }],
    ['no limit', json('{"measure":{"kind":"count"},"window":{"kind":"calendar","unit":"day"}}')],
    ['no unit', { ...MONTHLY, limits: {} }],
    [
      'units without unit_path',
      json('{"measure":{"kind":"count"},"limits":{"EUR":"1"},"window":{"kind":"calendar","unit":"day"}}'),
    ],
    ['a window of 90 seconds', { ...COUNT, window: { kind: 'rolling', seconds: 90 } }],
    ['a window longer than 31 days', { ...COUNT, window: { kind: 'rolling', seconds: 2_678_460 } }],
    ['a fact that a caller chooses', { ...COUNT, per: ['agreement_id'] }],
    ['a fact twice', { ...COUNT, per: ['requester', 'requester'] }],
    ['an empty match', { ...COUNT, match: { subjects: [] } }],
    ['a pattern for everything', { ...COUNT, match: { capabilities: ['*'] } }],
    ['on_execution without executors', { ...COUNT, counts: 'on_execution' }],
    ['executors without on_execution', { ...COUNT, executors: ['x'] }],
    ['settle_seconds without on_execution', { ...COUNT, settle_seconds: 600 }],
    ['an unknown member', { ...COUNT, extra: 1 }],
  ])('with %s is refused', (_name, config) => {
    expect(() => readBudgetConfig(config)).toThrow(FormError)
  })

  it('of both examples is read', () => {
    expect(readBudgetConfig(MONTHLY).limits).toEqual(
      new Map([
        ['EUR', 1_000_000n],
        ['USD', 1_100_000n],
      ]),
    )
    expect(readBudgetConfig(COUNT)).toMatchObject({ scale: 0, counts: 'on_allow', settle: null, visible: false })
  })
})

describe('a step', () => {
  const run = (config: JsonObject, used: bigint | undefined, change: Partial<typeof CONTEXT> = {}) =>
    runBudget(readBudgetConfig(config), 'policy:p/g', {
      ...factsWith(change),
      budgets: { read: () => (used === undefined ? undefined : { used, reserved: 0n, replaces: null }) },
    })

  it.each<[string, bigint | undefined, Partial<typeof CONTEXT>, string]>([
    ['the limit is reached exactly', 999_250n, {}, 'pass'],
    ['the limit is passed by one unit', 999_251n, {}, 'fail'],
    ['the state is not there', undefined, {}, 'gate_error'],
    ['the amount is missing', 0n, { request_parameters: { currency: 'EUR' } }, 'missing_context'],
    ['the unit is missing', 0n, { request_parameters: { amount: '1' } }, 'missing_context'],
    ['the unit has another case', 0n, { request_parameters: { amount: '1', currency: 'eur' } }, 'invalid_context'],
    [
      'the unit is a member of every object',
      0n,
      { request_parameters: { amount: '1', currency: '__proto__' } },
      'invalid_context',
    ],
  ])('where %s', (_name, used, change, outcome) => {
    const { outcome: found, inputs } = run(MONTHLY, used, change)
    expect(found).toBe(outcome)
    expect(inputs['asked'] !== null).toBe(outcome === 'pass' || outcome === 'fail')
  })

  it('without the fact of per denies, and one that does not match passes without a counter', () => {
    expect(run(COUNT, 0n).outcome).toBe('missing_context')
    const { outcome, inputs } = run({ ...COUNT, match: { subjects: ['somebody'] } }, 0n)
    expect([outcome, inputs['applies'], inputs['budget_key'], inputs['asked']]).toEqual(['pass', false, null, null])
  })

  it('takes the subject of a partner from what the authority recorded', () => {
    const attributes = { chancery_recognition: { issuer_sovereign_id: 'BETA', subject_id: 'clerk' } }
    expect(run(COUNT, 0n, { attributes }).inputs['per']).toEqual({ subject: ['BETA', 'clerk'] })
  })
})

describe('budgets of a treaty', () => {
  const budget = {
    budget_id: 'monthly',
    capabilities: ['pay.*'],
    measure: { kind: 'count' },
    window: { kind: 'calendar', unit: 'year' },
    limit: 5,
  }
  it.each<[string, unknown]>([
    ['no list', 'x'],
    ['an empty list', []],
    ['an id twice', [budget, budget]],
    ['an id of another form', [{ ...budget, budget_id: 'A B' }]],
    ['per requester', [{ ...budget, per: ['requester'] }]],
    ['no capability', [{ ...budget, capabilities: [] }]],
    ['seventeen', Array.from({ length: 17 }, (_, at) => ({ ...budget, budget_id: `b${at}` }))],
  ])('with %s grant nothing', (_name, budgets) => {
    expect(treatyBudgets({ claims: { budgets } as JsonObject })).toBeNull()
  })

  it('are read, and none is there without the claim', () => {
    expect(treatyBudgets({ claims: { budgets: [budget] } })?.map(({ budget_id }) => budget_id)).toEqual(['monthly'])
    expect(treatyBudgets({ claims: {} })).toEqual([])
  })

  it.each([
    ['pay.send', 'pay.*', true],
    ['pay.*', 'pay.send', true],
    ['pay.*', 'pay.card.*', true],
    ['pay.send', 'pay.send', true],
    ['pay', 'pay.*', false],
    ['payments.*', 'pay.*', false],
  ])('%s and %s overlap: %s', (a, b, expected) => {
    expect(overlaps(a, b)).toBe(expected)
  })
})
