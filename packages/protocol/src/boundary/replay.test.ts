import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import type { JsonObject } from '../canonical/utf8.ts'
import { type BoundaryPolicy, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { PolicyBinding } from '../artifacts/decision-bindings.ts'
import { instantOf } from '../reading/text.ts'
import { draftBoundaryDecision, draftJustification } from './decide.ts'
import type { CedarAnswer, EngineAnswer } from './engine-question.ts'
import { boundaryQuestions, evaluateBoundary } from './evaluate.ts'
import { preparePolicy } from './policy-set.ts'
import { type StoredCase, replayDecision, replayQuestions } from './replay.ts'

// Holds: a replay gives the recorded bytes of pure gates, finds every change of a result, a reason, an input or the list
// of gates, and never calls a decision the same that it did not compute.

const CEDAR_CONFIG = {
  policy_set_digest: 'a'.repeat(64),
  schema_digest: 'b'.repeat(64),
  principal: { type: 'Member', id: 'requester_sovereign_id' },
  action: { type: 'Action', id: 'requested_capability' },
  resource: { type: 'Account', id: 'request_parameters.account' },
}
const FACT_CONFIG = {
  origin: 'https://opa.example',
  path: '/v1/data/x',
  question: { input: { fact: 'request_parameters.account' } },
  answer: { path: 'result' },
}

function gate(gate_id: string, gate_type: string, order: number, config: JsonObject, disclose_input = false) {
  return { gate_id, gate_type, order, mode: 'enforce', config, disclose_input } as const
}

const POLICY: BoundaryPolicy = {
  policy_id: 'spending',
  version: 1,
  description: '',
  valid_from: '2026-01-01T00:00:00Z',
  valid_until: '2036-01-01T00:00:00Z',
  selector: {
    capabilities: [],
    requester_sovereign_ids: [],
    provider_sovereign_ids: [],
    agreement_ids: [],
    parent_kinds: [],
    parameter_equals: {},
  },
  gates: [
    gate('limit', 'max_value.v1', 0, { path: 'request_parameters.amount', max: 1000 }, true),
    gate('rules', 'cedar.v1', 1, CEDAR_CONFIG),
    gate('source', 'external_fact.v1', 2, FACT_CONFIG),
  ],
  issued_at: '2026-01-01T00:00:00Z',
  issued_by: 'k',
  issuer_sovereign_id: 'alpha',
  signature: null,
}

const ALLOW: CedarAnswer = { kind: 'cedar', engine_version: '4.13.0', decision: 'allow', reason: ['r'], errors: [] }

const UNAVAILABLE: EngineAnswer = { kind: 'none', failure: 'engine_unavailable' }

function decide(amount: number, answer: EngineAnswer = ALLOW, fact = true, requested_capability = 'pay'): StoredCase {
  const now = instantOf('2026-11-17T09:00:00Z')
  const context = {
    context_id: 'c-1',
    agreement_id: 'a-1',
    parent_kind: 'direct' as const,
    requester_sovereign_id: 'beta',
    provider_sovereign_id: 'alpha',
    requested_capability,
    request_parameters: { amount, account: 'x1' },
    requested_at: '2026-11-17T09:00:00Z',
    context_freshness_seq: 0,
    attributes: {},
  }
  const terms = {
    capabilities: ['pay'],
    valid_from: '2026-01-01T00:00:00Z',
    valid_until: '2027-01-01T00:00:00Z',
    freshness_commitment: 0,
  }
  const ready = preparePolicy(POLICY)
  const policy_digest = boundaryPolicyDigest(POLICY)
  const checked = { policy_id: 'spending', version: 1, policy_digest, policy: POLICY, problem: undefined, ready }
  const question = { basis: { kind: 'agreement' as const, terms }, context, policies: [checked], now }
  const observed = {
    kind: 'external_fact',
    answer: fact,
    revision: undefined,
    as_of: undefined,
    observed_at: '2026-11-17T09:00:00.1Z',
  } as const
  const answers = new Map(
    boundaryQuestions(question).map(({ question: { digest, kind } }) => [digest, kind === 'cedar' ? answer : observed]),
  )
  const run = evaluateBoundary({ ...question, answers })
  const decision = draftBoundaryDecision({
    decision_id: 'd-1',
    context,
    run,
    operator_sovereign_id: 'alpha',
    basisEnds: undefined,
    policy_binding: run.policy_binding,
  })
  const { entries } = draftJustification({ proof_id: 'p', trace_id: 't', decision, run }).trace
  return { decision, context, trace: entries, policies: [POLICY], attestation: undefined }
}

function replay(stored: StoredCase, answer: EngineAnswer = ALLOW): ReturnType<typeof replayDecision> {
  return replayDecision(stored, new Map(replayQuestions(stored).map(({ question }) => [question.digest, answer])))
}

function bindingOf({ decision }: StoredCase): PolicyBinding {
  if (decision.policy_binding === undefined) throw new Error('no binding')
  return decision.policy_binding
}

/** Without one gate in results, evaluations and trace. */
function leaveOut(stored: StoredCase, name: string): StoredCase {
  const { decision, trace } = stored
  const others = <Item extends { readonly gate_name: string }>(items: readonly Item[]): readonly Item[] =>
    items.filter(({ gate_name }) => gate_name !== name)
  const binding = bindingOf(stored)
  const gate_evaluations = binding.gate_evaluations.filter(
    ({ policy_id, gate_id }) => `${policy_id}/${gate_id}` !== name,
  )
  return {
    ...stored,
    trace: others(trace),
    decision: {
      ...decision,
      gate_results: others(decision.gate_results),
      policy_binding: { ...binding, gate_evaluations },
    },
  }
}

const resultsOf = ({ gates }: ReturnType<typeof replay>): readonly string[] => gates.map(({ result }) => result)

const ALL_SAME = ['same', 'same', 'same', 'same', 'same', 'external']

describe('a replay', () => {
  it('asks Cedar again, and no other system', () => {
    expect(replayQuestions(decide(1)).map(({ gate_name }) => gate_name)).toEqual(['spending/rules'])
  })

  it('gives the recorded bytes for any amount and any answers', () => {
    const answers: fc.Arbitrary<CedarAnswer> = fc.record({
      kind: fc.constant('cedar' as const),
      engine_version: fc.constant('4.13.0'),
      decision: fc.constantFrom('allow' as const, 'deny' as const),
      reason: fc.array(fc.string()),
      errors: fc.array(fc.string()),
    })
    fc.assert(
      fc.property(fc.integer(), answers, fc.boolean(), (amount, answer, fact) => {
        const again = replay(decide(amount, answer, fact), answer)
        expect([again.result, resultsOf(again)]).toEqual(['same', ALL_SAME])
      }),
    )
  })

  it('finds a changed result, reason, input or evaluation of every gate', () => {
    const stored = decide(1)
    for (const at of stored.trace.keys()) {
      const change = (members: JsonObject): StoredCase => ({
        ...stored,
        trace: stored.trace.map((entry, n) => (n === at ? { ...entry, ...members } : entry)),
      })
      for (const members of [{ reason: 'because' }, { result: false }]) {
        const again = replay(change(members))
        expect([again.result, again.gates[at]?.result]).toEqual(['different', 'different'])
      }
    }
    const binding = bindingOf(stored)
    const gate_evaluations = binding.gate_evaluations.map((each) => ({ ...each, outcome: 'fail' }))
    const changed = { ...stored.decision, policy_binding: { ...binding, gate_evaluations } }
    expect(replay({ ...stored, decision: changed }).result).toBe('different')
  })

  it('finds an allow that the gates do not give, and another context', () => {
    const stored = decide(1001)
    expect(replay({ ...stored, decision: { ...stored.decision, authorized: true } }).result).toBe('different')
    const context = { ...stored.context, request_parameters: { amount: 5, account: 'x1' } }
    expect(replay({ ...stored, context }).result).toBe('different')
  })

  it('finds a recorded answer that does not give the verdict', () => {
    const stored = decide(1)
    const trace = stored.trace.map((entry) =>
      entry.gate_type === 'external_fact.v1' ? { ...entry, inputs: { ...entry.inputs, answer: false } } : entry,
    )
    expect(resultsOf(replay({ ...stored, trace }))).toContain('different')
  })

  it.each<[string, EngineAnswer, EngineAnswer]>([
    ['Cedar is missing here', ALLOW, { kind: 'none', failure: 'engine_unavailable' }],
    ['Cedar was too slow then', { kind: 'none', failure: 'time_limit' }, ALLOW],
    ['Cedar was missing then and is here', UNAVAILABLE, UNAVAILABLE],
    ['Cedar has another version here', ALLOW, { ...ALLOW, engine_version: '5.0.0' }],
  ])('is incomplete when %s', (_name, then, now) => {
    const again = replay(decide(1, then), now)
    expect([again.result, again.gates[4]?.result]).toEqual(['incomplete', 'not_recomputable'])
  })

  it('is different when Cedar of the same version answers otherwise', () => {
    expect(replay(decide(1), { ...ALLOW, decision: 'deny' }).result).toBe('different')
    expect(replay(decide(1), { ...ALLOW, reason: ['s'] }).result).toBe('different')
  })

  it('is the same when Cedar of this version refuses the request again', () => {
    const refused: EngineAnswer = { kind: 'none', failure: 'request_refused', engine_version: '4.13.0' }
    expect(replay(decide(1, refused), refused).result).toBe('same')
  })

  it('finds a gate of an applied policy that was left out everywhere', () => {
    const stored = decide(1)
    for (const gate_id of ['limit', 'rules', 'source']) {
      const again = replay(leaveOut(stored, `spending/${gate_id}`))
      expect([again.result, resultsOf(again).includes('different')]).toEqual(['different', false])
    }
    const all = ['limit', 'rules', 'source'].reduce((rest, gate_id) => leaveOut(rest, `spending/${gate_id}`), stored)
    expect(replay(all).result).toBe('different')
    expect(replay({ ...all, policies: [] }).result).toBe('incomplete')
  })

  it('finds gates in another order, and an evaluation without a gate', () => {
    const stored = decide(1)
    const swap = <Item>(items: readonly Item[]): readonly Item[] => [
      ...items.slice(0, -2),
      ...items.slice(-2).toReversed(),
    ]
    const { gate_results } = stored.decision
    const decision = { ...stored.decision, gate_results: swap(gate_results) }
    expect(replay({ ...stored, decision, trace: swap(stored.trace) }).result).toBe('different')
    const whole = leaveOut(stored, 'spending/source')
    expect(replay({ ...whole, decision: { ...whole.decision, policy_binding: bindingOf(stored) } }).result).toBe(
      'different',
    )
  })

  it('finds another denial reason', () => {
    const denied = decide(1001, { ...ALLOW, decision: 'deny' })
    expect(denied.decision.denial_reason).toBe("policy gate 'spending/limit' failed (+1 more)")
    const answer: EngineAnswer = { ...ALLOW, decision: 'deny' }
    expect(replay(denied, answer).result).toBe('same')
    for (const denial_reason of ["policy gate 'spending/limit' failed", 'other', null])
      expect(replay({ ...denied, decision: { ...denied.decision, denial_reason } }, answer).result).toBe('different')
    const outside = decide(1, ALLOW, true, 'sell')
    expect([replay(outside).result, outside.trace.length]).toEqual(['same', 1])
    expect(replay({ ...outside, decision: { ...outside.decision, denial_reason: 'other' } }).result).toBe('different')
  })

  it.each(['policy_resolution', 'attestation_status'])('is incomplete when %s alone denied', (gate_name) => {
    const stored = decide(1, ALLOW, true, 'sell')
    const [first] = stored.trace
    if (first === undefined) throw new Error('no gate')
    const entry = { ...first, gate_name, gate_type: 'StateGate', inputs: {}, reason: 'because' }
    const decision = {
      ...stored.decision,
      denial_reason: 'because',
      gate_results: [{ gate_name, passed: false, detail: 'because' }],
    }
    const again = replay({ ...stored, decision, trace: [entry] })
    expect([again.result, resultsOf(again)]).toEqual(['incomplete', ['not_recomputable']])
  })

  it('is incomplete without the policy, or with another version of it', () => {
    const stored = decide(1)
    expect(replay({ ...stored, policies: [] }).result).toBe('incomplete')
    expect(replay({ ...stored, policies: [{ ...POLICY, description: 'other' }] }).result).toBe('incomplete')
  })
})
