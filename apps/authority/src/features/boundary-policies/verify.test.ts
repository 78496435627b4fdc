import { BOUNDARY_POLICY_FORM, signForm } from '@chancery/protocol'
import type { BoundaryPolicy, JsonObject, JsonValue } from '@chancery/protocol'
import { accepted, eventsOfCallers, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishPolicy } from './intents.suite.ts'

let na: TestAuthority
let own: JsonObject
beforeAll(async () => {
  na = await startTestAuthority()
  own = await publishPolicy(na)
})
afterAll(() => na.stop())

const verify = (policy: JsonValue, keys?: JsonValue): Promise<TestResponse> =>
  na.request('POST', '/boundary-policies/verify', {
    body: { policy, ...(keys === undefined ? {} : { issuer_public_keys: keys }) },
  })
const reasonOf = async (policy: JsonValue, keys?: JsonValue): Promise<JsonValue | undefined> =>
  accepted(await verify(policy, keys))['reason']

/** Signed by another key, in the form of the given members. */
async function foreign(members: JsonObject, drop: readonly string[] = []): Promise<[JsonObject, string]> {
  const signer = await testSigner('foreign')
  const stored = Object.entries({ ...own, ...members }).filter(([name]) => !drop.includes(name))
  const draft = Object.fromEntries(stored) as unknown as BoundaryPolicy
  return [{ ...(await signForm(BOUNDARY_POLICY_FORM, draft, signer)) }, signer.publicKey]
}

describe('POST /boundary-policies/verify', () => {
  it('200: verifies with the own key, or with the keys of the request', async () => {
    const before = (await eventsOfCallers(na)).length
    expect(accepted(await verify(own))).toMatchObject({
      valid: true,
      reason: 'valid',
      policy_id: own['policy_id'],
      version: 1,
      policy_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const [policy, key] = await foreign({ version: 9 })
    expect(await reasonOf(policy)).toBe('invalid_signature')
    expect(await reasonOf(policy, [key])).toBe('valid')
    expect(await reasonOf(policy, [])).toBe('invalid_signature')
    expect(await eventsOfCallers(na)).toHaveLength(before)
  })

  it('200: reports a missing signature, a changed member and an invalid form', async () => {
    expect(await reasonOf({ ...own, signature: null })).toBe('missing_signature')
    expect(await reasonOf({ ...own, description: 'other' })).toBe('invalid_signature')
    const selector = own['selector'] as JsonObject
    const { agreement_ids: _left, ...short } = selector
    const [policy, key] = await foreign({ selector: short })
    expect(await reasonOf(policy, [key])).toBe('invalid_signature')
  })

  it.each([undefined, null, 'x', []])('400: policy %j is missing_policy', async (policy) => {
    refused(
      await na.request('POST', '/boundary-policies/verify', { body: policy === undefined ? {} : { policy } }),
      400,
      'missing_policy',
    )
  })

  it('400: refuses a malformed policy, whatever key signed it', async () => {
    const gates = own['gates'] as JsonObject[]
    const [unknown, key] = await foreign({ extra: 1 })
    refused(await verify(unknown, [key]), 400, 'invalid_policy')
    for (const members of [
      { version: '1' },
      { version: 0 },
      { valid_from: 'x' },
      { selector: { ...(own['selector'] as JsonObject), extra: [] } },
      { gates: [{ ...gates[0], extra: 1 }] },
      { gates: [{ ...gates[0], mode: 'warn' }] },
      { gates: [] },
      { gates: [{ ...gates[0], gate_id: 'Big' }] },
      { policy_id: 'a b' },
      { signature: 'x' },
    ])
      refused(await verify({ ...own, ...members }), 400, 'invalid_policy')
    const { gates: _gates, ...without } = own
    refused(await verify(without), 400, 'invalid_policy')
  })

  it.each(['x', {}, [5], ['AAAA']])('400: keys %j are invalid_public_keys', async (keys) => {
    refused(await verify(own, keys), 400, 'invalid_public_keys')
  })
})
