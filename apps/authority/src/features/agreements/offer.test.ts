import { capabilityOfferForm, digestOf, readReceived, trustEvidenceForm, verifyReceived } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignFeed,
  foreignSovereign,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { OperatorOptions, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const bolt = foreignSovereign('bolt-net')
let na: TestAuthority
let ownKey: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  ownKey = na.genesis.network_authority.public_key
  await treaty('bolt-net', bolt.publicKey)
})
afterAll(() => na.stop())

async function treaty(subject: string, key: string, changes: JsonObject = {}): Promise<JsonObject> {
  const scope = { allowed_roles: ['role:client'] }
  const body = { subject_sovereign_id: subject, subject_public_keys: [key], scope, validity_hours: 2000, ...changes }
  return accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
}

const REQUEST = {
  responder_sovereign_id: 'bolt-net',
  capabilities: ['ledger.read', 'ledger.append'],
  scope: { city: 'Zürich' },
  valid_from: '2026-01-02T00:00:00Z',
  valid_until: '2026-02-02T00:00:00Z',
  expires_at: '2026-01-03T00:00:00Z',
}
const offer = (changes: JsonObject = {}, options?: OperatorOptions, as = 'standard'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/agreements/offer', { ...REQUEST, ...changes }, options)
const evidenceOf = async (answer: TestResponse): Promise<JsonObject> =>
  accepted(answer, 201)['offerer_evidence'] as JsonObject

describe('POST /admin/agreements/offer', () => {
  describe('201', () => {
    it('signs the offer with evidence from the current graph, and audits it', async () => {
      const answer = await offer()
      const record = accepted(answer, 201)
      const graph = (await na.request('GET', '/recognition-graph')).json as JsonObject
      expect(record).toEqual({
        offer_id: expect.stringMatching(UUID4),
        offerer_sovereign_id: 'TEST-NET',
        responder_sovereign_id: 'bolt-net',
        requested_terms: {
          capabilities: REQUEST.capabilities,
          scope: REQUEST.scope,
          valid_from: REQUEST.valid_from,
          valid_until: REQUEST.valid_until,
          freshness_commitment: 0,
        },
        graph_digest: digestOf(graph),
        offerer_evidence: expect.any(Object),
        expires_at: REQUEST.expires_at,
        created_at: '2026-01-02T03:04:05.678000Z',
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(await verifyReceived(readReceived(capabilityOfferForm, record), [ownKey])).toEqual({ ok: true })
      const evidence = record['offerer_evidence'] as JsonObject
      expect(await verifyReceived(readReceived(trustEvidenceForm, evidence), [ownKey])).toEqual({ ok: true })
      expect(evidence).toMatchObject({
        issuer_sovereign_id: 'TEST-NET',
        source_sovereign_id: 'TEST-NET',
        target_sovereign_id: 'bolt-net',
        verdict: 'allow',
        reason: 'active_treaty_path',
        trusted: true,
        hop_count: 1,
        graph_digest: digestOf(graph),
        evaluated_at: '2026-01-02T03:04:05.678000Z',
        issued_by: 'na-test',
      })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['capability_offer_built'])
      // No scope: an audit event records what happened, not the content.
      expect(detailsOf(events[0])).toEqual({
        offer_id: record['offer_id'],
        offerer_sovereign_id: 'TEST-NET',
        responder_sovereign_id: 'bolt-net',
        capabilities: REQUEST.capabilities,
        key_id: 'op-standard',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('verifies with independent code', async () => {
      expect(verifiesWithNodeCrypto((await offer({ scope: {} })).text, ownKey)).toBe(true)
    })

    it('records a block, and does not refuse it', async () => {
      const unknownSigner = await evidenceOf(await offer({ responder_sovereign_id: 'nobody-net' }))
      expect(unknownSigner).toMatchObject({
        verdict: 'block',
        reason: 'no_active_treaty_path',
        trusted: false,
        hop_count: 0,
      })
      const ended = await treaty('ended-net', foreignSovereign('ended-net').publicKey)
      const path = `/admin/recognition-treaties/${String(ended['treaty_id'])}/revoke`
      accepted(await na.as('privileged')('POST', path, {}))
      const revoked = await evidenceOf(await offer({ responder_sovereign_id: 'ended-net' }))
      expect(revoked).toMatchObject({ verdict: 'block', reason: 'direct_treaty_revoked' })
    })

    it('warns of a treaty near its expiry, and escalates over revoked attestations', async () => {
      await treaty('soon-net', foreignSovereign('soon-net').publicKey, { validity_hours: 48 })
      const nearExpiry = await evidenceOf(await offer({ responder_sovereign_id: 'soon-net' }))
      expect(nearExpiry).toMatchObject({ verdict: 'warn', reason: 'treaty_expiring_soon', trusted: true })
      const pressed = foreignSovereign('pressed-net')
      await treaty('pressed-net', pressed.publicKey)
      const feed = foreignFeed(pressed, 1, ['a-1', 'a-2'], { issued_at: '2026-01-02T03:00:00Z' })
      accepted(
        await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed: feed as JsonValue }),
      )
      const pressure = await evidenceOf(await offer({ responder_sovereign_id: 'pressed-net' }))
      expect(pressure).toMatchObject({ verdict: 'escalate', reason: 'recognition_under_revocation_pressure' })
      expect(pressure['signals']).toHaveLength(2)
    })

    it('writes times in UTC, whatever offset the request has', async () => {
      const times = {
        valid_from: '2026-01-01T02:00:00+02:00',
        valid_until: '2027-01-01T00:00:00',
        expires_at: '2026-06-01T00:00:00.123456789Z',
      }
      const record = accepted(await offer(times), 201)
      expect(record['requested_terms']).toMatchObject({
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2027-01-01T00:00:00Z',
      })
      expect(record['expires_at']).toBe('2026-06-01T00:00:00.123456Z')
    })

    it('returns the first response for a repeated request', async () => {
      const options = { headers: { 'Idempotency-Key': 'offer-1' } }
      const first = await offer({}, options)
      const second = await offer({}, options)
      expect(second.text).toBe(first.text)
      expect(await eventsOf(na, second)).toEqual([])
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['no responder', { responder_sovereign_id: null }],
      ['a responder of another type', { responder_sovereign_id: 5 }],
      ['a responder of 129 characters', { responder_sovereign_id: 'x'.repeat(129) }],
      ['no capabilities', { capabilities: null }],
      ['an empty list', { capabilities: [] }],
      ['an empty capability', { capabilities: [''] }],
      ['a capability of another type', { capabilities: ['a', 1] }],
      ['1025 capabilities', { capabilities: Array.from({ length: 1025 }, (_, n) => `c${n}`) }],
      ['a scope that is a list', { scope: [] }],
    ])('missing_offer_fields: %s', async (_name, changes) => {
      refused(await offer(changes), 400, 'missing_offer_fields')
    })

    it.each<[string, JsonObject]>([
      ['none', { valid_from: null }],
      ['a number', { expires_at: 1_800_000_000 }],
      ['a date only', { valid_until: '2026-02-02' }],
      ['a day that does not exist', { valid_until: '2026-02-30T00:00:00Z' }],
    ])('invalid_timestamps: %s', async (_name, changes) => {
      refused(await offer(changes), 400, 'invalid_timestamps')
    })

    it('invalid_timestamp_order: a window that is empty or inverted', async () => {
      for (const valid_until of [REQUEST.valid_from, '2026-01-01T00:00:00Z'])
        refused(await offer({ valid_until }), 400, 'invalid_timestamp_order')
    })
  })

  it('401: without operator headers, and nothing is signed', async () => {
    refused(await na.request('POST', '/admin/agreements/offer', { body: REQUEST }), 401, 'admin_auth_failed')
  })

  it('422: an offer to oneself', async () => {
    const before = (await na.auditEvents('capability_offer_built')).length
    refused(await offer({ responder_sovereign_id: 'TEST-NET' }), 422, 'offer_rejected')
    expect(await na.auditEvents('capability_offer_built')).toHaveLength(before)
  })
})
