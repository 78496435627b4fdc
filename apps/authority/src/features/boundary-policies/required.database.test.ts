import { type JsonObject, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  newNodeCaller,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activatePolicy, deactivatePolicy, gate, intent, publishPolicy } from './intents.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const NONE = {
  authorized: false,
  denial_reason: 'policy resolution failed: no_policy_applied',
  policy_binding: { policies: [], resolution_status: 'failed', resolution_failure: 'no_policy_applied' },
}
let na: TestAuthority
beforeAll(async () => {
  const settings = { NA_CLOCK_CHECK: 'off', BOUNDARY_POLICY_ENFORCEMENT: 'required', NA_NODE_DECISIONS: 'partners' }
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

const privileged = (path: string, body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', path, body)
const evaluate = async (body: JsonObject): Promise<unknown> =>
  accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', body), 201)['decision']
const CONTEXT = { request_parameters: { amount: 5 } }

/** An own node with its attestation, which asks for itself and through an operator. */
async function ownMember(): Promise<(requested_capability: string) => Promise<unknown[]>> {
  const node = await newNodeCaller(na.url, 'ask', clock)
  const { cert_id } = await enroll(na, node)
  const claims = { capabilities: ['ledger.read', 'vault.open'] }
  const issued = await privileged('/admin/attestations', {
    subject_id: 'agent-7',
    roles: ['role:client'],
    subject_public_key: node.key,
    claims,
  })
  const attestation_id = accepted(issued, 201)['attestation_id'] ?? null
  return async (requested_capability) => {
    const asked = { attestation_id, requested_capability, context: CONTEXT }
    const audience = na.genesis.network_authority.public_key
    const own = await node.post('/boundary/request', { action: 'boundary-request', audience, cert_id, ...asked })
    return [await evaluate(asked), accepted(own, 201)['decision']]
  }
}

async function partnersMember(): Promise<JsonObject> {
  const partner = foreignSovereign('PARTNER-NET')
  const treaty = {
    subject_sovereign_id: partner.sovereign_id,
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], claims: { capabilities: ['ledger.*'] } },
  }
  accepted(await privileged('/admin/recognition-treaties', treaty), 201)
  const feed = foreignFeed(partner, 1, [], { issued_at: writeInstant(clock.now()) })
  accepted(await privileged('/admin/sovereign-revocation-feeds/import', { feed }))
  const attestation = foreignAttestation(partner, clock.now(), { claims: { capabilities: ['ledger.read'] } })
  const presented = { attestation, issuer_sovereign_id: partner.sovereign_id }
  return { presented, requested_capability: 'ledger.read', context: CONTEXT }
}

describe('BOUNDARY_POLICY_ENFORCEMENT=required', () => {
  it('allows nothing to which no policy applied: no policy, one for other requests, one whose time has not come', async () => {
    const [ask, foreign] = [await ownMember(), await partnersMember()]
    for (const decision of [...(await ask('ledger.read')), await evaluate(foreign)])
      expect(decision).toMatchObject(NONE)
    const aside = await publishPolicy(na, { selector: { capabilities: ['vault.open'] } })
    const later = await publishPolicy(na, { valid_from: '2080-01-01T00:00:00Z' })
    for (const policy of [aside, later]) await activatePolicy(na, policy)
    for (const decision of [...(await ask('ledger.read')), await evaluate(foreign)])
      expect(decision).toMatchObject(NONE)
    for (const decision of await ask('vault.open')) expect(decision).toMatchObject({ authorized: true })
    const covering = await publishPolicy(na)
    await activatePolicy(na, covering)
    for (const decision of [...(await ask('ledger.read')), await evaluate(foreign)])
      expect(decision).toMatchObject({ authorized: true, denial_reason: null })
    for (const policy of [aside, later, covering]) await deactivatePolicy(na, policy)
  })

  it('counts in a simulation as in a decision', async () => {
    const body = {
      intent: intent({ gates: [gate()], selector: { capabilities: ['ledger.read'] } }),
      contexts: ['ledger.read', 'vault.open'].map((requested_capability) => ({ requested_capability, ...CONTEXT })),
    }
    const answer = accepted(await na.as('standard')('POST', '/admin/boundary-policies/simulate', body))
    expect(answer).toMatchObject({ newly_allowed: 1, unchanged: 1 })
  })
})
