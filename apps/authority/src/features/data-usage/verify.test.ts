import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  accepted,
  FloatNumber,
  eventsOfCallers,
  foreignIntent,
  foreignLicense,
  foreignSovereign,
  ManualClock,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignValue, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const agent = foreignSovereign('AGENT-NET')
const licensor = foreignSovereign('LICENSOR-NET')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const json = (value: ForeignValue): JsonValue => readJson(wireText(value))
const intent = (changes: ForeignObject = {}): JsonObject =>
  json(foreignIntent(agent, clock.now(), changes)) as JsonObject
const license = (changes: ForeignObject = {}): JsonObject =>
  json(foreignLicense(licensor, clock.now(), changes)) as JsonObject
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/data-usage/verify', { body })
const KEYS = { agent_public_keys: [agent.publicKey] }

async function violations(declared: JsonObject, policy: JsonObject, more: JsonObject = KEYS): Promise<string[]> {
  const answer = accepted(await post({ intent: declared, policy, ...more }))
  const found = answer['violations'] as { violation_type: string }[]
  const types = found.map((each) => each.violation_type)
  expect([answer['valid'], answer['violation_reason'], answer['violation_count']]).toEqual([
    types.length === 0,
    types[0] ?? null,
    types.length,
  ])
  return types
}

describe('POST /data-usage/verify', () => {
  it('accepts own records under the own key and writes nothing', async () => {
    const terms = {
      licensee_sovereign_id: 'x',
      allowed_source_ids: ['s'],
      allowed_access_types: ['read'],
      valid_from: '2030-01-01T00:00:00Z',
      valid_until: '2031-01-01T00:00:00Z',
    }
    const sources = [{ source_id: 's', source_type: 't', owner_sovereign_id: 'o' }]
    const operator = na.as('standard')
    const policy = accepted(await operator('POST', '/admin/data-usage/policy', terms), 201)
    const declared = accepted(
      await operator('POST', '/admin/data-usage/intent', { sources, access_types: ['read'] }),
      201,
    )
    const before = (await eventsOfCallers(na)).length
    expect(await violations(declared, policy, {})).toEqual([])
    expect((await eventsOfCallers(na)).length).toBe(before)
  })

  it('reports each violation in full', async () => {
    const declared = intent({ declared_access_types: ['train'] })
    const answer = accepted(await post({ intent: declared, policy: license(), ...KEYS }))
    const [first] = answer['violations'] as JsonObject[]
    expect(first).toEqual({
      violation_id: first?.['violation_id'],
      intent_id: declared['intent_id'],
      record_id: null,
      agent_sovereign_id: 'AGENT-NET',
      violation_type: 'access_type_not_permitted',
      detail: 'access type train is not permitted',
      detected_at: '2030-01-02T03:04:05Z',
    })
    expect(first?.['violation_id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('requires a signature of the licensor when the caller sends its key', async () => {
    const exceeds = ['intent_exceeds_license']
    const supply = (key: string): JsonObject => ({ ...KEYS, policy_public_keys: [key] })
    expect(await violations(intent(), license())).toEqual([])
    expect(await violations(intent(), license(), supply(licensor.publicKey))).toEqual([])
    expect(await violations(intent(), license(), supply(agent.publicKey))).toEqual(exceeds)
    expect(await violations(intent(), { ...license(), signature: null }, supply(licensor.publicKey))).toEqual(exceeds)
    // For an own policy only the own key counts, whatever keys the caller sends.
    const inOurName = license({ licensor_sovereign_id: 'TEST-NET' })
    expect(await violations(intent(), inOurName)).toEqual(exceeds)
    expect(await violations(intent(), inOurName, supply(licensor.publicKey))).toEqual(exceeds)
  })

  it('refuses an intent that the agent did not sign, or signed with unknown members', async () => {
    const exceeds = ['intent_exceeds_license']
    expect(await violations(intent(), license(), {})).toEqual(exceeds)
    expect(await violations({ ...intent(), signature: null }, license())).toEqual(exceeds)
    expect(await violations({ ...intent(), decision_id: 'other' }, license())).toEqual(exceeds)
    expect(await violations(intent({ extra: 1 }), license())).toEqual(exceeds)
    expect(await violations(intent(), license({ extra: 1 }))).toEqual(exceeds)
  })

  describe('400', () => {
    it('missing_verify_fields without one of the two', async () => {
      refused(await post({ policy: license() }), 400, 'missing_verify_fields')
      refused(await post({ intent: intent(), policy: null }), 400, 'missing_verify_fields')
    })

    it.each<[string, () => JsonObject]>([
      ['an intent that is a string', () => ({ intent: 'x', policy: license() })],
      ['an intent without its time', () => ({ intent: json(drop(intent(), 'declared_at')), policy: license() })],
      [
        'a volume of 1.0',
        () => ({
          intent: json(foreignIntent(agent, clock.now(), { estimated_volume_bytes: new FloatNumber(1) })),
          policy: license(),
        }),
      ],
      [
        'a policy without licensee',
        () => ({ intent: intent(), policy: json(drop(license(), 'licensee_sovereign_id')) }),
      ],
      ['a negative cap', () => ({ intent: intent(), policy: license({ max_volume_bytes_per_session: -1 }) })],
      ['an unreadable time', () => ({ intent: intent(), policy: license({ valid_from: 'soon' }) })],
    ])('invalid_input for %s', async (_name, body) => {
      refused(await post({ ...body(), ...KEYS }), 400, 'invalid_input')
    })

    it.each<[string, JsonValue]>([
      ['a string', 'x'],
      ['an object', {}],
      ['a number', [5]],
      ['a short key', ['AAAA']],
      ['65 keys', Array<string>(65).fill(agent.publicKey)],
    ])('invalid_public_keys for %s', async (_name, keys) => {
      const body = { intent: intent(), policy: license() }
      refused(await post({ ...body, agent_public_keys: keys }), 400, 'invalid_public_keys')
      refused(await post({ ...body, ...KEYS, policy_public_keys: keys }), 400, 'invalid_public_keys')
    })
  })
})

function drop(record: JsonObject, name: string): ForeignObject {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name))
}
