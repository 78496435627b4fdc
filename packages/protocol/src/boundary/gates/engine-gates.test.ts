import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { readJson } from '../../canonical/read-json.ts'
import { canonicalJson } from '../../canonical/canonical-json.ts'
import type { JsonObject } from '../../canonical/utf8.ts'
import { FormError } from '../../reading/schema.ts'
import type { CedarAnswer, CedarQuestion, EngineAnswer, FactQuestion } from '../engine-question.ts'
import { ENGINE_FAILURES } from '../engine-question.ts'
import type { Facts } from '../facts.ts'
import { cedar } from './cedar.ts'
import { externalFact, readFactResponse, readRecordedFact, supposedFact } from './external-fact.ts'

// Holds: what cedar.v1 and external_fact.v1 ask, what they make of every answer, and that errors always deny.

const json = (text: string): JsonObject => readJson(text) as JsonObject

const CEDAR = json(`{
  "policy_set_digest": "${'a'.repeat(64)}", "schema_digest": "${'b'.repeat(64)}",
  "principal": {"type": "Member", "id": "requester_sovereign_id"},
  "action": {"type": "Action", "id": "requested_capability"},
  "resource": {"type": "Printer", "id": "request_parameters.resource.id"},
  "context": ["request_parameters", "requested_at", "attestation"]
}`)

const FACT = json(`{
  "origin": "https://opa.example:8181", "path": "/v1/data/app/allow?provenance=true",
  "question": {"input": {"who": {"fact": "requester_sovereign_id", "prefix": "user:"}, "amount": {"fact": "request_parameters.amount"}}},
  "answer": {"path": "result"},
  "revision": {"path": "provenance.revision", "equals": "r7"},
  "freshness": {"path": "as_of", "max_age_seconds": 60}
}`)

function factsWith(parameters: string, answers: ReadonlyMap<string, EngineAnswer> = new Map()): Facts {
  const context = {
    agreement_id: 'a-1',
    parent_kind: 'direct',
    requester_sovereign_id: 'beta',
    provider_sovereign_id: 'alpha',
    requested_capability: 'print',
    request_parameters: json(parameters),
    requested_at: '2026-11-17T09:00:00.123456Z',
    context_freshness_seq: 0,
    attributes: {},
  }
  return { context, attestation: undefined, answers }
}

const SITUATION = { gate_name: 'policy/gate', isDenied: false }

const cedarAsk = (parameters: string): CedarQuestion | undefined =>
  cedar.prepareQuestion?.(CEDAR)(factsWith(parameters)) as CedarQuestion | undefined
const factAsk = (parameters: string): FactQuestion | undefined =>
  externalFact.prepareQuestion?.(FACT)(factsWith(parameters)) as FactQuestion | undefined

const GOOD = '{"resource":{"id":"p1"},"copies":2}'

function judgeCedar(answer: EngineAnswer): { outcome: string; text: string; inputs?: JsonObject } {
  const digest = cedarAsk(GOOD)?.digest ?? ''
  return cedar.prepare(CEDAR)(factsWith(GOOD, new Map([[digest, answer]])), SITUATION)
}

const allow: CedarAnswer = { kind: 'cedar', engine_version: '4.13.0', decision: 'allow', reason: ['few'], errors: [] }

describe('the request of cedar.v1', () => {
  it('names principal, action and resource by facts, and has times and decimals of Cedar', () => {
    const { request } = cedarAsk('{"resource":{"id":"p1"},"copies":2,"price":1.50,"note":null}') ?? {}
    expect(request).toEqual({
      principal: { type: 'Member', id: 'beta' },
      action: { type: 'Action', id: 'print' },
      resource: { type: 'Printer', id: 'p1' },
      context: {
        request_parameters: {
          resource: { id: 'p1' },
          copies: 2,
          price: { __extn: { fn: 'decimal', arg: '1.5000' } },
        },
        requested_at: { __extn: { fn: 'datetime', arg: '2026-11-17T09:00:00.123Z' } },
      },
    })
  })

  it.each([
    ['an entity in a parameter', '{"resource":{"id":"p1"},"x":{"__entity":{"type":"Member","id":"admin"}}}'],
    ['a function in a list', '{"resource":{"id":"p1"},"x":[{"__extn":{"fn":"ip","arg":"::1"}}]}'],
    ['an expression', '{"resource":{"id":"p1"},"x":{"y":{"__expr":"true"}}}'],
    ['an integer beyond 2^53', '{"resource":{"id":"p1"},"x":9007199254740993}'],
    ['five digits after the point', '{"resource":{"id":"p1"},"x":0.00001}'],
    ['null in a list', '{"resource":{"id":"p1"},"x":[null]}'],
    ['33 levels', `{"resource":{"id":"p1"},"x":${'['.repeat(33)}${']'.repeat(33)}}`],
    ['a resource that is a number', '{"resource":{"id":7}}'],
    ['more than 16,384 bytes', `{"resource":{"id":"p1"},"x":"${'é'.repeat(8192)}"}`],
  ])('is not made of %s', (_name, parameters) => {
    expect(cedarAsk(parameters)).toBeUndefined()
    expect(cedar.prepare(CEDAR)(factsWith(parameters), SITUATION).outcome).toBe('invalid_context')
  })

  it('may have 16,384 bytes', () => {
    const sizeOf = (text: string): number => {
      const { request } = cedarAsk(`{"resource":{"id":"p1"},"x":"${text}"}`) ?? {}
      return request === undefined ? 0 : Buffer.byteLength(canonicalJson(request))
    }
    const rest = 16_384 - sizeOf('')
    expect([sizeOf('x'.repeat(rest)), sizeOf('x'.repeat(rest + 1))]).toEqual([16_384, 0])
  })

  it('needs the resource', () => {
    expect(cedar.prepare(CEDAR)(factsWith('{}'), SITUATION).outcome).toBe('missing_context')
  })

  it.each([
    ['an unknown member', { ...CEDAR, policy_set: 'permit(principal, action, resource);' }],
    ['a path that is none', { ...CEDAR, resource: { type: 'Printer', id: 'nowhere' } }],
    ['a type with a space', { ...CEDAR, resource: { type: 'Prin ter', id: 'agreement_id' } }],
    ['a member of the context twice', { ...CEDAR, context: ['attributes', 'attributes'] }],
    ['a digest in capitals', { ...CEDAR, schema_digest: 'B'.repeat(64) }],
  ])('is refused with %s in the config', (_name, config) => {
    expect(() => cedar.prepare(config)).toThrow(FormError)
  })
})

describe('the verdict of cedar.v1', () => {
  it('passes only for allow without errors', () => {
    expect(judgeCedar(allow).outcome).toBe('pass')
    expect(judgeCedar({ ...allow, decision: 'deny', reason: [] }).outcome).toBe('fail')
    expect(judgeCedar({ ...allow, decision: 'deny', reason: ['never'] }).text).toBe('forbidden by never')
  })

  it('denies any answer with an error, whatever Cedar decided', () => {
    const names = fc.array(fc.string(), { minLength: 1 })
    fc.assert(
      fc.property(names, fc.array(fc.string()), fc.constantFrom('allow', 'deny'), (errors, reason, decision) => {
        expect(judgeCedar({ ...allow, decision, reason, errors }).outcome).toBe('gate_error')
      }),
    )
  })

  it.each(ENGINE_FAILURES)('denies without an answer: %s', (failure) => {
    expect(judgeCedar({ kind: 'none', failure }).outcome).not.toBe('pass')
  })

  it('denies when no system was asked, or the answer is of another kind', () => {
    expect(cedar.prepare(CEDAR)(factsWith(GOOD), SITUATION).outcome).toBe('gate_error')
    const at = '2026-11-17T09:00:00Z'
    const other = {
      kind: 'external_fact',
      answer: true,
      revision: undefined,
      as_of: undefined,
      observed_at: at,
    } as const
    expect(judgeCedar(other).outcome).toBe('gate_error')
  })

  it('records engine, digests and rules, and the request only as a digest', () => {
    const { inputs = {} } = judgeCedar(allow)
    expect(Object.keys(inputs).sort()).toEqual([
      'decision',
      'engine',
      'engine_version',
      'entities_digest',
      'errors',
      'policy_set_digest',
      'reason',
      'request_digest',
      'schema_digest',
    ])
    expect(canonicalJson(inputs)).not.toContain('p1')
  })
})

describe('external_fact.v1', () => {
  const ok = '{"amount":5}'
  const response = '{"result":true,"provenance":{"revision":"r7"},"as_of":"2026-11-17T08:59:30Z"}'
  const judge = (text: string): string => {
    const question = factAsk(ok)
    if (question === undefined) throw new Error('no question')
    const fact = readFactResponse(question, readJson(text), '2026-11-17T09:00:00.2Z')
    return externalFact.prepare(FACT)(factsWith(ok, new Map([[question.digest, fact]])), SITUATION).outcome
  }

  it('fills facts into its question', () => {
    expect(factAsk(ok)?.body).toEqual({ input: { who: 'user:beta', amount: 5 } })
  })

  it('passes only for the expected answer of the expected revision in time', () => {
    expect(judge(response)).toBe('pass')
    expect(judge(response.replace('true', 'false'))).toBe('fail')
    expect(judge(response.replace('true', '"true"'))).toBe('fail')
    expect(judge(response.replace('true', '{}'))).toBe('missing_context')
    expect(judge('{}')).toBe('missing_context')
    expect(judge(response.replace('r7', 'r8'))).toBe('gate_error')
    expect(judge(response.replace('08:59:30', '08:58:59'))).toBe('gate_error')
    expect(judge(response.replace('08:59:30', '09:06:00'))).toBe('gate_error')
    expect(judge('{"result":true,"provenance":{"revision":"r7"}}')).toBe('gate_error')
  })

  it.each(ENGINE_FAILURES)('denies without an answer: %s', (failure) => {
    const facts = factsWith(ok, new Map([[factAsk(ok)?.digest ?? '', { kind: 'none', failure }]]))
    expect(externalFact.prepare(FACT)(facts, SITUATION).outcome).toBe('gate_error')
  })

  it('gives the same verdict on the recorded answer', () => {
    const answers = fc.oneof(fc.boolean(), fc.integer(), fc.string({ maxLength: 20 }), fc.constant(null))
    fc.assert(
      fc.property(answers, fc.constantFrom('r7', 'r8'), (answer, revision) => {
        const question = factAsk(ok)
        if (question === undefined) throw new Error('no question')
        const fact = { ...supposedFact(question, answer, '2026-11-17T09:00:00Z'), revision }
        const run = (used: EngineAnswer) =>
          externalFact.prepare(FACT)(factsWith(ok, new Map([[question.digest, used]])), SITUATION)
        const first = run(fact)
        const recorded = readRecordedFact(json(canonicalJson(first.inputs ?? {})))
        expect(recorded).toBeDefined()
        expect(run(recorded ?? { kind: 'none', failure: 'not_asked' })).toEqual(first)
      }),
    )
  })

  it.each(['group:eng#member', 'a b', 'x:y', ''])('does not put %j after a prefix', (value) => {
    const facts = factsWith(ok)
    const named = { ...facts, context: { ...facts.context, requester_sovereign_id: value } }
    expect(externalFact.prepare(FACT)(named, SITUATION).outcome).toBe('invalid_context')
  })

  it.each([
    ['an origin with a path', { ...FACT, origin: 'https://opa.example/x' }],
    ['an origin with a user', { ...FACT, origin: 'https://me@opa.example' }],
    ['another scheme', { ...FACT, origin: 'file://opa.example' }],
    ['a path without a slash', { ...FACT, path: 'v1' }],
    ['a path that names a host', { ...FACT, path: '//opa.example/v1' }],
    ['a path that no address can have', { ...FACT, path: '//[' }],
    ['a fragment', { ...FACT, path: '/v1#x' }],
    ['a reference with another member', { ...FACT, question: { a: { fact: 'agreement_id', also: 1 } } }],
    ['a reference to nothing', { ...FACT, question: { a: { fact: 'nowhere' } } }],
    ['a time limit over a second', { ...FACT, time_limit_ms: 1001 }],
  ])('is refused with %s', (_name, config) => {
    expect(() => externalFact.prepare(config)).toThrow(FormError)
  })
})
