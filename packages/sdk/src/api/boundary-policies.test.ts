import { type JsonObject, boundaryPolicyDigest } from '@chancery/protocol'
import { type TestAuthority, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'

let na: TestAuthority
let client: Client
beforeAll(async () => {
  na = await startTestAuthority({ backend: 'sqlite' })
  const audience = na.genesis.network_authority.public_key
  const signer = await testSigner('op-privileged')
  client = createAuthorityClient({ url: na.url, operator: { signer, audience }, retry: false })
})
afterAll(() => na.stop())

const intent = (policy_id: string, max = 10): JsonObject => ({
  policy_id,
  valid_from: '2020-01-01T00:00:00Z',
  valid_until: '2090-01-01T00:00:00Z',
  gates: [{ gate_id: 'cap', gate_type: 'max_value.v1', order: 0, config: { path: 'request_parameters.amount', max } }],
})

describe('boundary policies', () => {
  it('are validated, published, activated, listed and taken out of force', async () => {
    expect(await client.boundaryPolicies.validate(intent('p'))).toEqual({
      valid: true,
      issues: [],
      policy_id: 'p',
      warnings: [],
      next_version: 1,
    })
    const policy = await client.boundaryPolicies.publish(intent('p'))
    await client.boundaryPolicies.publish(intent('p'))
    expect(await client.boundaryPolicies.activate('p', { version: 2 })).toEqual({
      policy_id: 'p',
      version: 2,
      previous_version: null,
      active: true,
    })
    expect((await client.boundaryPolicies.activate('p', { version: 1 })).previous_version).toBe(2)
    const { policies } = await client.boundaryPolicies.list()
    expect(policies.map(({ version, active, gate_count }) => [version, active, gate_count])).toEqual([
      [2, false, 1],
      [1, true, 1],
    ])
    const active = await client.boundaryPolicies.active()
    expect(active).toMatchObject({ enforcement: 'optional', policy_set_healthy: true, problems: [] })
    expect(active.active).toMatchObject([
      { policy_id: 'p', version: 1, policy_digest: boundaryPolicyDigest(policy), policy },
    ])
    const { versions } = await client.boundaryPolicies.history('p')
    expect(versions.map(({ version, policy: body }) => [version, body?.version])).toEqual([
      [2, 2],
      [1, 1],
    ])
    expect(await client.boundaryPolicies.verify({ policy })).toMatchObject({ valid: true, reason: 'valid' })
    expect(await client.boundaryPolicies.deactivate('p', { version: 1 })).toEqual({
      policy_id: 'p',
      version: 1,
      active: false,
    })
  })

  it('are published once under one idempotency key', async () => {
    const options = { idempotencyKey: 'k-1' }
    const [first, again] = [
      await client.boundaryPolicies.publish(intent('once'), options),
      await client.boundaryPolicies.publish(intent('once'), options),
    ]
    expect(again).toEqual(first)
  })

  it('name their issues by gate', async () => {
    const bad = { ...intent('p'), gates: [{ gate_id: 'g', gate_type: 'no.v1', order: 0 }] }
    const { valid, issues } = await client.boundaryPolicies.validate(bad)
    expect(valid).toBe(false)
    expect(issues).toEqual([{ code: 'unknown_gate_type', message: expect.any(String), gate_id: 'g' }])
  })

  it('are simulated before they bind', async () => {
    const contexts = [5, 15].map((amount) => ({ requested_capability: 'pay', request_parameters: { amount } }))
    const answer = await client.boundaryPolicies.simulate({ intent: intent('fresh'), contexts })
    expect(answer).toMatchObject({ total: 2, unchanged: 1, newly_denied: 1, sample: [{ index: 1 }] })
  })
})
