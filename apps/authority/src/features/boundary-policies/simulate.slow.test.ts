import { createHash } from 'node:crypto'
import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activatePolicy, intent, publishPolicy } from './intents.suite.ts'

// Holds: a simulation of a slow Cedar policy ends at its time limit, and no decision is denied because of it
// (docs/architecture.md, rules of a true answer).

const SCHEMA = `entity Member; entity Secret;
action "secret.rotate" appliesTo { principal: Member, resource: Secret, context: {
  request_parameters: { id: String, s?: String },
} };`
const QUICK = '@id("ok") permit(principal, action, resource);'
/** Long patterns that nearly fit: a comparison takes the product of both lengths. */
const SLOW = Array.from(
  { length: 25 },
  (_, n) => `@id("p${n}") forbid(principal, action, resource) when {
    context.request_parameters has s && context.request_parameters.s like "*${'a'.repeat(2000)}b${n}" };`,
).join('\n')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function cedarIntent(policy_id: string, rules: string): JsonObject {
  const config = {
    policy_set_digest: sha256(rules),
    schema_digest: sha256(SCHEMA),
    principal: { type: 'Member', id: 'requester_sovereign_id' },
    action: { type: 'Action', id: 'requested_capability' },
    resource: { type: 'Secret', id: 'request_parameters.id' },
    context: ['request_parameters'],
  }
  const gates = [{ gate_id: 'g', gate_type: 'cedar.v1', order: 0, config }]
  return intent({ policy_id, selector: { capabilities: ['secret.rotate'] }, gates, texts: [rules, SCHEMA] })
}

let na: TestAuthority
let attestation_id: string
beforeAll(async () => {
  na = await startTestAuthority()
  await activatePolicy(na, await publishPolicy(na, cedarIntent('production', QUICK)))
  const member = { subject_id: 'vendor', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const record = accepted(await na.as('privileged')('POST', '/admin/attestations', member), 201)
  attestation_id = String(record['attestation_id'])
})
afterAll(() => na.stop())

async function decide(): Promise<unknown> {
  const asked = {
    attestation_id,
    requested_capability: 'secret.rotate',
    context: { request_parameters: { id: 'x' } },
  }
  const { decision } = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  return (decision as JsonObject)['authorized']
}

describe('a simulation that takes long', () => {
  it('503: ends after ten seconds, and every decision meanwhile is allowed', async () => {
    expect(await decide()).toBe(true)
    const contexts = Array.from({ length: 40 }, (_, n) => ({
      requested_capability: 'secret.rotate',
      requester_sovereign_id: 'x',
      request_parameters: { id: 'x', s: 'a'.repeat(15_800 - n) },
    }))
    let isOver = false
    const body = { intent: cedarIntent('candidate', SLOW), contexts }
    const simulated = na
      .as('standard')('POST', '/admin/boundary-policies/simulate', body)
      .finally(() => {
        isOver = true
      })
    const seen: unknown[] = []
    while (!isOver) {
      seen.push(await decide())
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(refused(await simulated, 503, 'service_unavailable')['details']).toEqual({ reason: 'deadline' })
    expect([seen.length > 5, new Set(seen)]).toEqual([true, new Set([true])])
  }, 60_000)
})
