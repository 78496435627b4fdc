import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignSovereign,
  ManualClock,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const START = '2026-01-02T03:04:05.678Z'
const clock = new ManualClock(START)
const bolt = foreignSovereign('bolt-net')
let na: TestAuthority
let agreement: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const scope = { allowed_roles: ['role:client'] }
  const treaty = { subject_sovereign_id: 'bolt-net', subject_public_keys: [bolt.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  const request = {
    responder_sovereign_id: 'bolt-net',
    capabilities: ['ledger.read'],
    valid_from: '2026-01-02T00:00:00Z',
    valid_until: '2026-02-02T00:00:00Z',
    expires_at: '2026-02-02T00:00:00Z',
  }
  const offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', request), 201)
  agreement = accepted(await na.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
})
afterAll(() => na.stop())
let decision: JsonObject
beforeEach(async () => {
  decision = await decide('ledger.read')
})

async function decide(requested_capability: string): Promise<JsonObject> {
  const body = { agreement, requested_capability }
  return accepted(await na.as('standard')('POST', '/admin/boundary/decide', body), 201)
}
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/boundary/verify', { body })
async function verdict(record: JsonObject, more: JsonObject = {}): Promise<readonly (JsonValue | undefined)[]> {
  const answer = accepted(await post({ decision: record, ...more }))
  expect(Object.keys(answer).sort()).toEqual(['accepted', 'authorized', 'decision_id', 'reason'])
  expect(answer['decision_id']).toBe(record['decision_id'])
  return [answer['accepted'], answer['authorized'], answer['reason']]
}

describe('POST /boundary/verify', () => {
  it('distinguishes a valid grant from a valid denial', async () => {
    expect(await verdict(decision)).toEqual([true, true, 'authorized'])
    expect(await verdict(await decide('vault.open'))).toEqual([true, false, 'unauthorized_capability_out_of_scope'])
  })

  it('refuses an unsigned or changed decision and one of another key, and repeats its claims', async () => {
    expect(await verdict({ ...decision, signature: null })).toEqual([false, true, 'missing_signature'])
    expect(await verdict({ ...decision, context_id: 'x' })).toEqual([false, true, 'invalid_signature'])
    expect(await verdict({ ...decision, more: 1 })).toEqual([false, true, 'invalid_signature'])
    const keys = { operator_public_keys: [bolt.publicKey] }
    expect(await verdict(decision, keys)).toEqual([false, true, 'invalid_signature'])
    const denied = await decide('vault.open')
    const turned = { ...denied, authorized: true, denial_reason: null }
    expect(await verdict(turned)).toEqual([false, true, 'invalid_signature'])
  })

  it('refuses a decision 300 seconds old and reports its age before its signature', async () => {
    clock.advance(300)
    expect(await verdict(decision)).toEqual([true, true, 'authorized'])
    clock.advance(0.000001)
    expect(await verdict(decision)).toEqual([false, true, 'decision_expired'])
    expect(await verdict({ ...decision, context_id: 'x' })).toEqual([false, true, 'decision_expired'])
  })

  it('treats a null binding as none, and an added one as a change', async () => {
    const nulls = { policy_binding: null, attestation_binding: null }
    expect(await verdict({ ...decision, ...nulls })).toEqual([true, true, 'authorized'])
  })

  it('writes nothing', async () => {
    const before = (await eventsOfCallers(na)).length
    await verdict(decision)
    await verdict({ ...decision, signature: null })
    expect(await eventsOfCallers(na)).toHaveLength(before)
  })

  it.each<[string, JsonObject, string]>([
    ['no decision', { decision: null }, 'missing_decision'],
    ['a string', { decision: 'x' }, 'invalid_decision'],
    ['an empty object', { decision: {} }, 'invalid_decision'],
    ['invalid keys', { operator_public_keys: ['AAAA'] }, 'invalid_public_keys'],
  ])('400: %s', async (_name, changes, code) => {
    refused(await post({ decision, ...changes }), 400, code)
  })

  it('400: a denial without a reason, and a grant with one', async () => {
    refused(await post({ decision: { ...decision, authorized: false } }), 400, 'invalid_decision')
    refused(await post({ decision: { ...decision, denial_reason: 'x' } }), 400, 'invalid_decision')
  })
})
