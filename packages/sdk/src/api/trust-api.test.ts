import type { TrustDecision } from '@chancery/contract'
import { type AgreementRecord, JsonFloat, asJson, writeJson } from '@chancery/protocol'
import { ManualClock, type TestAuthority, foreignSovereign, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import { ResponseError } from '../errors.ts'

const clock = new ManualClock('2026-01-02T03:04:05Z')
let na: TestAuthority
let client: Client
beforeAll(async () => {
  na = await startTestAuthority({ backend: 'sqlite', clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const audience = na.genesis.network_authority.public_key
  const signer = await testSigner('op-privileged')
  client = createAuthorityClient({
    url: na.url,
    operator: { signer, audience },
    retry: false,
    clock: () => clock.now(),
  })
  await client.recognitionTreaties.issue({
    subject_sovereign_id: 'bolt-net',
    subject_public_keys: [foreignSovereign('bolt-net').publicKey],
    scope: { allowed_roles: ['role:client'] },
  })
})
afterAll(() => na.stop())

const TERMS = {
  capabilities: ['ledger.read', 'ledger.append'],
  valid_from: '2026-01-02T00:00:00Z',
  valid_until: '2026-02-02T00:00:00Z',
}
const offer = () =>
  client.agreements.offer({ ...TERMS, responder_sovereign_id: 'bolt-net', expires_at: TERMS.valid_until })

describe('agreements', () => {
  it('are offered, countered, accepted, verified and decided on', async () => {
    const original_offer = await offer()
    const counter = await client.agreements.counter({ ...TERMS, offer: original_offer, capabilities: ['ledger.read'] })
    const agreement = await client.agreements.accept({ counter, original_offer })
    expect(agreement.agreed_terms.capabilities).toEqual(['ledger.read'])
    expect(await client.agreements.verify({ agreement })).toEqual({
      accepted: true,
      reason: 'accepted',
      agreement_id: agreement.agreement_id,
      signed_by_both: false,
      in_force: true,
      graph_changed: false,
    })
    const context = { context_id: 'c-1', request_parameters: { rows: 5 } }
    const request = { agreement, requested_capability: 'ledger.read', context }
    const decision = await client.boundary.decide(request, { idempotencyKey: 'd-1' })
    expect([decision.authorized, decision.context_id]).toEqual([true, 'c-1'])
    expect(await client.boundary.decide(request, { idempotencyKey: 'd-1' })).toEqual(decision)
    expect(await client.boundary.verify({ decision })).toEqual({
      accepted: true,
      authorized: true,
      reason: 'authorized',
      decision_id: decision.decision_id,
    })
    const denied = await client.boundary.decide({ agreement, requested_capability: 'vault.open' })
    expect(denied.denial_reason).toBe('capability out of scope')
  })

  it('and decisions are accepted as text, with the form of their numbers', async () => {
    const scope = { limit: new JsonFloat(100) }
    const request = { ...TERMS, scope, responder_sovereign_id: 'bolt-net', expires_at: TERMS.valid_until }
    const text = writeJson(asJson(await client.agreements.offer(request)))
    expect(text).toContain('"limit":100.0')
    const agreement = writeJson(asJson(await client.agreements.accept({ offer: text })))
    expect(await client.agreements.verify({ agreement })).toMatchObject({ accepted: true })
    const other = JSON.parse(agreement) as AgreementRecord
    expect(await client.agreements.verify({ agreement: other })).toMatchObject({ accepted: false })
    const decision = await client.boundary.decide({ agreement, requested_capability: 'ledger.read' })
    expect(await client.boundary.verify({ decision: writeJson(asJson(decision)) })).toMatchObject({ authorized: true })
    await expect(client.boundary.verify({ decision: '{' })).rejects.toMatchObject({ code: 'invalid_decision' })
  })

  it('are accepted as offered', async () => {
    const made = await offer()
    const agreement = await client.agreements.accept({ offer: made })
    expect(agreement.agreed_terms).toEqual(made.requested_terms)
    const keys = { offerer_public_keys: [foreignSovereign('bolt-net').publicKey] }
    expect((await client.agreements.verify({ agreement, ...keys })).reason).toBe('invalid_offerer_signature')
  })
})

describe('trust evidence', () => {
  it('is issued and verified', async () => {
    const decision: TrustDecision = {
      source_sovereign_id: 'a',
      target_sovereign_id: 'b',
      verdict: 'warn',
      hop_count: 2,
    }
    const evidence = await client.trustEvidence.issue({ decision, graph_digest: '0'.repeat(64) })
    expect(evidence).toMatchObject({ verdict: 'warn', hop_count: 2, graph_digest: '0'.repeat(64) })
    expect(await client.trustEvidence.verify({ evidence })).toMatchObject({ accepted: true, verdict: 'warn' })
    const expected_graph_digest = 'f'.repeat(64)
    const verdict = await client.trustEvidence.verify({ evidence, expected_graph_digest })
    expect(verdict.reason).toBe('graph_digest_mismatch')
  })

  it('with an unknown member is refused in a response', async () => {
    const decision: TrustDecision = { source_sovereign_id: 'a', target_sovereign_id: 'b', verdict: 'warn' }
    const evidence = await client.trustEvidence.issue({ decision })
    const strange = JSON.stringify({ ...evidence, more: 1 })
    const fetch: typeof globalThis.fetch = async () =>
      new Response(strange, { status: 201, headers: { 'content-type': 'application/json' } })
    const audience = na.genesis.network_authority.public_key
    const odd = createAuthorityClient({
      url: na.url,
      operator: { signer: await testSigner('op-privileged'), audience },
      retry: false,
      fetch,
    })
    await expect(odd.trustEvidence.issue({ decision })).rejects.toBeInstanceOf(ResponseError)
  })
})
