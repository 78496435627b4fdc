import { boundaryDecisionForm, readJson, readReceived, verifyReceived } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignAgreement,
  foreignSovereign,
  foreignTerms,
  refused,
  signAgreed,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const bolt = foreignSovereign('bolt-net')
const cedar = foreignSovereign('cedar-net')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  for (const each of [bolt, cedar]) await treaty(each.sovereign_id, each.publicKey)
})
afterAll(() => na.stop())

async function treaty(subject: string, key: string, roles: readonly string[] = ['role:client']): Promise<JsonObject> {
  const scope = { allowed_roles: roles }
  const body = { subject_sovereign_id: subject, subject_public_keys: [key], scope }
  return accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
}
async function ownAgreement(responder = 'bolt-net', changes: JsonObject = {}): Promise<JsonObject> {
  const request = {
    responder_sovereign_id: responder,
    capabilities: ['ledger.read'],
    valid_from: '2026-01-02T00:00:00Z',
    valid_until: '2026-02-02T00:00:00Z',
    expires_at: '2026-02-02T00:00:00Z',
    ...changes,
  }
  const offer = accepted(await na.as('standard')('POST', '/admin/agreements/offer', request), 201)
  return accepted(await na.as('standard')('POST', '/admin/agreements/accept', { offer }), 201)
}
/** Between two recognised sovereigns, signed with the given keys. */
function agreement(changes: ForeignObject = {}, signers: readonly ForeignSovereign[] = [bolt, cedar]): JsonObject {
  const record = foreignAgreement({ offerer: 'bolt-net', responder: 'cedar-net' }, clock.now(), changes)
  return readJson(wireText(signAgreed(record, ...signers))) as JsonObject
}
const decide = (record: JsonValue, changes: JsonObject = {}, on = na): Promise<TestResponse> =>
  on.as('standard')('POST', '/admin/boundary/decide', {
    agreement: record,
    requested_capability: 'ledger.read',
    ...changes,
  })
const gates = (decision: JsonObject): JsonValue[] =>
  (decision['gate_results'] as JsonObject[]).map((gate) => [gate['gate_name'] ?? '', gate['passed'] ?? null])

describe('POST /admin/boundary/decide', () => {
  describe('201', () => {
    it('signs a grant over the three gates and audits it without its parameters', async () => {
      const record = await ownAgreement()
      const context = { context_id: 'my context', request_parameters: { secret: 'canary' } }
      const answer = await decide(record, { context })
      const decision = accepted(answer, 201)
      expect(decision).toEqual({
        decision_id: expect.any(String),
        context_id: 'my context',
        agreement_id: record['agreement_id'],
        authorized: true,
        denial_reason: null,
        gate_results: [
          { gate_name: 'capability_check', passed: true, detail: expect.any(String) },
          { gate_name: 'validity_window', passed: true, detail: expect.any(String) },
          { gate_name: 'freshness_check', passed: true, detail: expect.any(String) },
        ],
        decision_made_at: '2026-01-02T03:04:05.678000Z',
        decision_valid_until: '2026-01-02T03:09:05.678000Z',
        operator_sovereign_id: 'TEST-NET',
        freshness_proof: null,
        signature: { key_id: 'na-test', sig: expect.any(String) },
      })
      const key = na.genesis.network_authority.public_key
      expect(await verifyReceived(readReceived(boundaryDecisionForm, decision), [key])).toEqual({ ok: true })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['boundary_decision_made'])
      expect(detailsOf(events[0])).toMatchObject({
        decision_id: decision['decision_id'],
        context_id: 'my context',
        requested_capability: 'ledger.read',
        authorized: true,
      })
      expect(JSON.stringify(events)).not.toContain('canary')
    })

    it('a denial is a 201 response and stops at the first gate', async () => {
      const denied = accepted(await decide(await ownAgreement(), { requested_capability: 'ledger' }), 201)
      expect([denied['authorized'], denied['denial_reason']]).toEqual([false, 'capability out of scope'])
      expect(gates(denied)).toEqual([['capability_check', false]])
      const early = await ownAgreement('bolt-net', { valid_from: '2026-01-05T00:00:00Z' })
      const outside = accepted(await decide(early), 201)
      expect(outside['denial_reason']).toBe('outside validity window')
      const terms = foreignTerms(clock.now(), { freshness_commitment: 5 })
      const stale = accepted(await decide(agreement({ agreed_terms: terms })), 201)
      expect(stale['denial_reason']).toBe('insufficient freshness')
      const fresh = agreement({ agreed_terms: terms })
      expect(accepted(await decide(fresh, { context: { context_freshness_seq: 5 } }), 201)['authorized']).toBe(true)
    })

    it('a grant ends with its agreement', async () => {
      const short = await ownAgreement('bolt-net', { valid_until: '2026-01-02T03:06:00Z' })
      expect(accepted(await decide(short), 201)['decision_valid_until']).toBe('2026-01-02T03:06:00Z')
    })

    it('returns the first decision for a repeated request', async () => {
      const record = await ownAgreement()
      const body = { agreement: record, requested_capability: 'ledger.read' }
      const options = { headers: { 'Idempotency-Key': 'decide-1' } }
      const call = (): Promise<TestResponse> => na.as('standard')('POST', '/admin/boundary/decide', body, options)
      expect((await call()).text).toBe((await call()).text)
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject, string]>([
      ['no agreement', { agreement: null }, 'missing_boundary_fields'],
      ['no capability', { requested_capability: '' }, 'missing_boundary_fields'],
      ['an agreement that is a string', { agreement: 'x' }, 'invalid_agreement'],
      ['a context that is a list', { context: [] }, 'invalid_context'],
      ['parameters that are a list', { context: { request_parameters: [] } }, 'invalid_context'],
      ['a string for parameters', { context: { request_parameters: '' } }, 'invalid_context'],
      ['a string for the sequence', { context: { context_freshness_seq: '' } }, 'invalid_context'],
      ['a negative sequence', { context: { context_freshness_seq: -1 } }, 'invalid_context'],
      ['a parent kind of the other basis', { context: { parent_kind: 'attestation' } }, 'invalid_context'],
      ['another requester', { context: { requester_sovereign_id: 'x' } }, 'context_party_mismatch'],
      ['another provider', { context: { provider_sovereign_id: 'x' } }, 'context_party_mismatch'],
    ])('%s', async (_name, changes, code) => {
      refused(await decide(agreement(), changes), 400, code)
    })
  })

  it('401: without operator headers', async () => {
    refused(await na.request('POST', '/admin/boundary/decide', { body: {} }), 401, 'admin_auth_failed')
  })

  it('409: where policies are enforced, before anything is read, and audited', async () => {
    const settings = { NA_CLOCK_CHECK: 'off', BOUNDARY_POLICY_ENFORCEMENT: 'required' }
    const strict = await startTestAuthority({ clock, settings })
    try {
      const answer = await decide('x', {}, strict)
      refused(answer, 409, 'boundary_policy_required')
      const events = await eventsOf(strict, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['boundary_legacy_decide_refused'])
      expect(detailsOf(events[0])).toMatchObject({ requested_capability: 'ledger.read' })
      // Cut in the middle of its last character.
      const requested_capability = `${'a'.repeat(255)}\u{1f511}`
      refused(await decide('x', { requested_capability }, strict), 409, 'boundary_policy_required')
    } finally {
      await strict.stop()
    }
  })

  describe('422 agreement_untrusted', () => {
    const twin = foreignSovereign('twin', 'twin')
    it.each<[string, () => JsonObject | Promise<JsonObject>, string, string | undefined]>([
      ['one party on both sides', () => agreement({ responder_sovereign_id: 'bolt-net' }), 'same_party', 'responder'],
      ['an unknown offerer', () => agreement({ offerer_sovereign_id: 'x-net' }), 'unknown_party', 'offerer'],
      ['an unknown responder', () => agreement({ responder_sovereign_id: 'x-net' }), 'unknown_party', 'responder'],
      ['no signature', () => agreement({}, []), 'missing_offerer_signature', undefined],
      ['the offerer alone', () => agreement({}, [bolt]), 'missing_responder_signature', undefined],
      ['the responder alone', () => agreement({}, [cedar]), 'invalid_offerer_signature', undefined],
      ['a longer limit', () => ({ ...agreement(), expires_at: '2030-01-01T00:00:00Z' }), 'terms_mismatch', undefined],
      [
        'a treaty that grants no role',
        async () => {
          await treaty('roleless-net', twin.publicKey, [])
          return agreement({ offerer_sovereign_id: 'roleless-net' }, [twin, cedar])
        },
        'unknown_party',
        'offerer',
      ],
      [
        'one key for both parties',
        async () => {
          for (const name of ['twin-a', 'twin-b']) await treaty(name, twin.publicKey)
          return agreement({ offerer_sovereign_id: 'twin-a', responder_sovereign_id: 'twin-b' }, [twin])
        },
        'overlapping_party_keys',
        undefined,
      ],
    ])('%s', async (_name, make, reason, party) => {
      const answer = await decide(await make())
      const details = party === undefined ? { reason } : { reason, party }
      expect(refused(answer, 422, 'agreement_untrusted')['details']).toEqual(details)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['agreement_untrusted'])
      expect(detailsOf(events[0])).toMatchObject({ route: 'POST /admin/boundary/decide', ...details })
    })

    it('an own agreement once its treaty was revoked', async () => {
      const brief = await treaty('brief-net', foreignSovereign('brief-net').publicKey)
      const record = await ownAgreement('brief-net')
      expect(accepted(await decide(record), 201)['authorized']).toBe(true)
      accepted(
        await na.as('privileged')('POST', `/admin/recognition-treaties/${String(brief['treaty_id'])}/revoke`, {}),
      )
      refused(await decide(record), 422, 'agreement_untrusted')
    })

    it('a treaty whose stored text was edited confirms no key', async () => {
      const eve = foreignSovereign('eve-net')
      const signed = await treaty('eve-net', foreignSovereign('somebody').publicKey)
      const forged = { ...signed, subject_public_keys: [eve.publicKey] }
      await rowsOf(na.core.database)
        .updateTable('recognition_treaties')
        .set({ treaty_json: wireText(forged as ForeignObject) })
        .where('treaty_id', '=', String(signed['treaty_id']))
        .execute()
      const answer = await decide(agreement({ offerer_sovereign_id: 'eve-net' }, [eve, cedar]))
      const error = refused(answer, 422, 'agreement_untrusted')
      expect(error['details']).toEqual({ reason: 'unknown_party', party: 'offerer' })
    })

    it('keys in the request are ignored', async () => {
      const eve = foreignSovereign('nobody-net')
      const record = agreement({ offerer_sovereign_id: 'nobody-net' }, [eve, cedar])
      refused(await decide(record, { offerer_public_keys: [eve.publicKey] }), 422, 'agreement_untrusted')
    })
  })
})
