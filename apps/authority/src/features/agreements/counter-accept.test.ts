import { agreementRecordForm, capabilityCounterForm, readJson, readReceived, verifyReceived } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignCounter,
  foreignOffer,
  foreignSovereign,
  foreignTerms,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const bolt = foreignSovereign('bolt-net')
const unknownSigner = foreignSovereign('bolt-net', 'stranger')
let na: TestAuthority
let ownKey: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  ownKey = na.genesis.network_authority.public_key
  const scope = { allowed_roles: ['role:client'] }
  const body = { subject_sovereign_id: 'bolt-net', subject_public_keys: [bolt.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
})
afterAll(() => na.stop())

const read = (record: ForeignObject): JsonObject => readJson(wireText(record)) as JsonObject
const theirOffer = (changes: ForeignObject = {}, by = bolt): JsonObject =>
  read(foreignOffer(by, 'TEST-NET', clock.now(), changes))
async function ownOffer(changes: JsonObject = {}): Promise<JsonObject> {
  const body = {
    responder_sovereign_id: 'bolt-net',
    capabilities: ['ledger.read', 'ledger.append'],
    valid_from: '2026-01-02T00:00:00Z',
    valid_until: '2026-02-02T00:00:00Z',
    expires_at: '2026-01-03T00:00:00Z',
    ...changes,
  }
  return accepted(await na.as('standard')('POST', '/admin/agreements/offer', body), 201)
}
const post = (action: string, body: JsonObject): Promise<TestResponse> =>
  na.as('standard')('POST', `/admin/agreements/${action}`, body)
const TERMS = {
  capabilities: ['ledger.read'],
  scope: { city: 'Bern' },
  valid_from: '2026-01-02T00:00:00Z',
  valid_until: '2026-01-20T00:00:00Z',
}
const counter = (offer: JsonValue, changes: JsonObject = {}): Promise<TestResponse> =>
  post('counter', { offer, ...TERMS, ...changes })
const theirCounter = (offer: JsonObject, changes: ForeignObject = {}, by = bolt): JsonObject =>
  read(foreignCounter(by, offer, clock.now(), changes))

/** Offers that both routes refuse. */
const BAD_OFFERS: readonly (readonly [string, () => JsonObject])[] = [
  ['between two others', () => theirOffer({ responder_sovereign_id: 'third-net' })],
  ['signed by an unknown key', () => theirOffer({}, unknownSigner)],
  ['without a signature', () => ({ ...theirOffer(), signatures: [] })],
  ['changed after signing', () => ({ ...theirOffer(), graph_digest: 'f'.repeat(64) })],
  ['with a signed unknown member', () => theirOffer({ extra: 1 })],
  ['that has expired', () => theirOffer({ expires_at: '2026-01-02T03:04:05.677999Z' })],
  ['whose offerer blocks us', () => theirOffer({ offerer_evidence: { verdict: 'block' } })],
]

describe('POST /admin/agreements/counter', () => {
  it('201: signs the seven agreed members and copies the rest of the partner’s offer', async () => {
    const offer = theirOffer({ requested_terms: foreignTerms(clock.now(), { freshness_commitment: 3 }) })
    const answer = await counter(offer)
    const record = accepted(answer, 201)
    for (const name of ['offer_id', 'offerer_sovereign_id', 'graph_digest', 'offerer_evidence', 'expires_at'])
      expect(record[name]).toEqual(offer[name])
    expect(record['agreed_terms']).toEqual({ ...TERMS, freshness_commitment: 3 })
    expect(record['responder_evidence']).toMatchObject({
      issuer_sovereign_id: 'TEST-NET',
      source_sovereign_id: 'TEST-NET',
      target_sovereign_id: 'bolt-net',
      verdict: 'allow',
    })
    expect(await verifyReceived(readReceived(capabilityCounterForm, record), [ownKey])).toEqual({ ok: true })
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['capability_counter_built'])
    expect(detailsOf(events[0])).toMatchObject({ offer_id: offer['offer_id'], capabilities: ['ledger.read'] })
  })

  it('201: its own offer, on behalf of the responder', async () => {
    const record = accepted(await counter(await ownOffer()), 201)
    expect(record['responder_evidence']).toMatchObject({ source_sovereign_id: 'bolt-net', issued_by: 'na-test' })
  })

  it.each<[string, JsonObject, string]>([
    ['no offer', { offer: null }, 'missing_counter_fields'],
    ['no capabilities', { capabilities: [] }, 'missing_counter_fields'],
    ['a scope that is a string', { scope: 'x' }, 'missing_counter_fields'],
    ['an offer that is a string', { offer: 'x' }, 'invalid_offer'],
    ['no valid_from', { valid_from: null }, 'invalid_timestamps'],
    ['an inverted window', { valid_until: '2026-01-01T00:00:00Z' }, 'invalid_timestamp_order'],
  ])('400: %s', async (_name, changes, code) => {
    refused(await counter(theirOffer(), changes), 400, code)
  })

  it.each(BAD_OFFERS)('422: an offer %s', async (_name, make) => {
    refused(await counter(make()), 422, 'counter_rejected')
  })

  it('422: more than was offered', async () => {
    const error = refused(await counter(theirOffer(), { capabilities: ['vault.open'] }), 422, 'counter_rejected')
    expect(error['details']).toEqual({ reason: 'capability_not_offered' })
  })

  it('422: an offer of a sovereign without a treaty', async () => {
    const gone = foreignSovereign('gone-net')
    const offer = read(foreignOffer(gone, 'TEST-NET', clock.now()))
    refused(await counter(offer), 422, 'counter_rejected')
  })
})

describe('POST /admin/agreements/accept', () => {
  it('201: a partner’s offer, with one signature of this authority', async () => {
    const offer = theirOffer()
    const answer = await post('accept', { offer })
    const record = accepted(answer, 201)
    expect(record).toMatchObject({
      offer_id: offer['offer_id'],
      offerer_sovereign_id: 'bolt-net',
      responder_sovereign_id: 'TEST-NET',
      agreed_terms: offer['requested_terms'],
      offerer_evidence: offer['offerer_evidence'],
      graph_digest: offer['graph_digest'],
      established_at: '2026-01-02T03:04:05.678000Z',
      expires_at: (offer['requested_terms'] as JsonObject)['valid_until'],
    })
    expect(record['signatures']).toHaveLength(1)
    expect(await verifyReceived(readReceived(agreementRecordForm, record), [ownKey])).toEqual({ ok: true })
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['agreement_accepted'])
    expect(detailsOf(events[0])).toMatchObject({ agreement_id: record['agreement_id'], offer_id: offer['offer_id'] })
  })

  it('201: the counter of the responder keeps its signature and gets one of this authority', async () => {
    const original_offer = await ownOffer()
    const answered = theirCounter(original_offer)
    const record = accepted(await post('accept', { counter: answered, original_offer }), 201)
    expect((record['signatures'] as JsonValue[])[0]).toEqual((answered['signatures'] as JsonValue[])[0])
    const received = readReceived(agreementRecordForm, record)
    expect(await verifyReceived(received, [bolt.publicKey])).toEqual({ ok: true })
    expect(await verifyReceived(received, [ownKey])).toEqual({ ok: true })
    expect(record['agreed_terms']).toEqual(answered['agreed_terms'])
  })

  it('201: uses the counter form if the body has both forms', async () => {
    const original_offer = await ownOffer()
    const body = { counter: theirCounter(original_offer), original_offer, offer: original_offer }
    const record = accepted(await post('accept', body), 201)
    expect((record['agreed_terms'] as JsonObject)['capabilities']).toEqual(['ledger.read'])
  })

  it('400: neither form', async () => {
    for (const body of [{}, { offer: null }, { counter: {} }, { original_offer: {} }])
      refused(await post('accept', body), 400, 'missing_accept_fields')
  })

  it.each(BAD_OFFERS)('422: an offer %s', async (_name, make) => {
    refused(await post('accept', { offer: make() }), 422, 'accept_rejected')
  })

  it('422: malformed objects', async () => {
    refused(await post('accept', { offer: 'x' }), 422, 'accept_rejected')
    refused(await post('accept', { counter: {}, original_offer: await ownOffer() }), 422, 'accept_rejected')
    const original_offer = await ownOffer()
    refused(
      await post('accept', { counter: theirCounter(original_offer), original_offer: 'x' }),
      422,
      'accept_rejected',
    )
  })

  it.each<[string, ForeignObject]>([
    ['another offer', { offer_id: 'other' }],
    ['another responder', { responder_sovereign_id: 'third-net' }],
    ['another graph', { graph_digest: '0'.repeat(64) }],
    ['other evidence', { offerer_evidence: { verdict: 'allow' } }],
    ['more than was offered', { agreed_terms: foreignTerms(clock.now(), { capabilities: ['vault.open'] }) }],
  ])('422: a counter with %s', async (_name, changes) => {
    const original_offer = await ownOffer()
    const answered = theirCounter(original_offer, changes)
    refused(await post('accept', { counter: answered, original_offer }), 422, 'accept_rejected')
  })

  it('422: a counter signed by an unknown key, or to an offer that is not an own one or has expired', async () => {
    const own = await ownOffer()
    const cases: readonly JsonObject[] = [
      { counter: theirCounter(own, {}, unknownSigner), original_offer: own },
      { counter: theirCounter(theirOffer()), original_offer: theirOffer() },
    ]
    for (const body of cases) refused(await post('accept', body), 422, 'accept_rejected')
    const forged = theirOffer({ offerer_sovereign_id: 'TEST-NET', responder_sovereign_id: 'bolt-net' })
    const body = { counter: theirCounter(forged), original_offer: forged }
    refused(await post('accept', body), 422, 'accept_rejected')
    const over = await ownOffer({ expires_at: '2026-01-02T03:04:05Z' })
    refused(await post('accept', { counter: theirCounter(over), original_offer: over }), 422, 'accept_rejected')
  })

  it('401: without operator headers', async () => {
    for (const action of ['counter', 'accept'])
      refused(await na.request('POST', `/admin/agreements/${action}`, { body: {} }), 401, 'admin_auth_failed')
  })
})

describe('NA_OWN_OFFER_ACCEPTANCE=second-key', () => {
  let strict: TestAuthority
  beforeAll(async () => {
    const settings = { NA_CLOCK_CHECK: 'off', NA_OWN_OFFER_ACCEPTANCE: 'second-key' }
    strict = await startTestAuthority({ clock, settings })
    const scope = { allowed_roles: ['role:client'] }
    const body = { subject_sovereign_id: 'bolt-net', subject_public_keys: [bolt.publicKey], scope }
    accepted(await strict.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
  })
  afterAll(() => strict.stop())
  const ask = (as: string, action: string, body: JsonObject): Promise<TestResponse> =>
    strict.as(as)('POST', `/admin/agreements/${action}`, body)
  const offered = async (): Promise<JsonObject> => {
    const body = { responder_sovereign_id: 'bolt-net', ...TERMS, expires_at: '2026-01-03T00:00:00Z' }
    return accepted(await ask('standard', 'offer', body), 201)
  }
  const reasonOf = (answer: TestResponse): JsonValue | undefined =>
    (refused(answer, 422, 'accept_rejected')['details'] as JsonObject)['reason']

  it('the key that made an own offer does not accept it; another key does', async () => {
    const offer = await offered()
    expect(reasonOf(await ask('standard', 'accept', { offer }))).toBe('own_offer_same_key')
    accepted(await ask('privileged', 'accept', { offer }), 201)
  })

  it('the key that made an own offer cannot accept a counter signed on behalf of the other party', async () => {
    const offer = await offered()
    const own = accepted(await ask('standard', 'counter', { offer, ...TERMS }), 201)
    const body = { counter: own, original_offer: offer }
    expect(reasonOf(await ask('standard', 'accept', body))).toBe('own_offer_same_key')
    accepted(await ask('privileged', 'accept', body), 201)
  })

  it('accepts a counter that the other party signed, and an offer that it made', async () => {
    const offer = await offered()
    accepted(await ask('standard', 'accept', { counter: theirCounter(offer), original_offer: offer }), 201)
    accepted(await ask('standard', 'accept', { offer: theirOffer() }), 201)
  })

  it('refuses an own offer whose maker is not stored', async () => {
    const offer = await offered()
    const id = String(offer['offer_id'])
    await rowsOf(strict.core.database).deleteFrom('offer_makers').where('offer_id', '=', id).execute()
    expect(reasonOf(await ask('privileged', 'accept', { offer }))).toBe('offer_maker_unknown')
  })
})
