import { agreementRecordForm, hours, readJson, readReceived } from '@chancery/protocol'
import { verifyReceived, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  FloatNumber,
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignAgreement,
  foreignSovereign,
  refused,
  signAgreed,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const bolt = foreignSovereign('bolt-net')
const stranger = foreignSovereign('bolt-net', 'stranger')
const late = foreignSovereign('late-net')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const scope = { allowed_roles: ['role:client'] }
  const body = { subject_sovereign_id: 'bolt-net', subject_public_keys: [bolt.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
})
afterAll(() => na.stop())

async function offered(changes: JsonObject = {}): Promise<JsonObject> {
  const request = {
    responder_sovereign_id: 'bolt-net',
    capabilities: ['ledger.read'],
    scope: { rows: 5 },
    valid_from: '2026-01-02T00:00:00Z',
    valid_until: '2026-02-02T00:00:00Z',
    expires_at: '2026-01-03T00:00:00Z',
    ...changes,
  }
  return accepted(await na.as('standard')('POST', '/admin/agreements/offer', request), 201)
}

function evidence(changes: ForeignObject = {}, signer: ForeignSovereign = bolt): ForeignObject {
  return signer.sign({
    evidence_id: 'evidence-1',
    issuer_sovereign_id: 'bolt-net',
    source_sovereign_id: 'bolt-net',
    target_sovereign_id: 'TEST-NET',
    verdict: 'allow',
    reason: 'direct_treaty',
    requested_roles: [],
    trusted: true,
    hop_count: 1,
    signals: [],
    graph_digest: '0'.repeat(64),
    evaluated_at: writeInstant(clock.now()),
    issued_at: writeInstant(clock.now()),
    issued_by: bolt.key_id,
    metadata: {},
    ...changes,
  })
}

/** The record with which bolt-net accepts an offer, changed before it is signed. */
function half(
  offer: JsonObject,
  changes: ForeignObject = {},
  signers: readonly ForeignSovereign[] = [bolt],
): JsonObject {
  const record = foreignAgreement({ offerer: 'TEST-NET', responder: 'bolt-net' }, clock.now(), {
    offer_id: offer['offer_id'] ?? null,
    graph_digest: offer['graph_digest'] ?? null,
    offerer_evidence: offer['offerer_evidence'] ?? null,
    agreed_terms: offer['requested_terms'] ?? null,
    responder_evidence: evidence(),
    ...changes,
  })
  return readJson(wireText(signAgreed(record, ...signers))) as JsonObject
}

const cosign = (agreement: JsonValue, original_offer: JsonValue, headers = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/agreements/cosign', { agreement, original_offer }, { headers })
const reasonOf = async (agreement: JsonValue, offer: JsonValue): Promise<unknown> =>
  (refused(await cosign(agreement, offer), 422, 'cosign_rejected')['details'] as JsonObject)['reason']
const verify = async (agreement: JsonObject): Promise<JsonValue | undefined> => {
  const keys = {
    offerer_public_keys: [na.genesis.network_authority.public_key],
    responder_public_keys: [bolt.publicKey],
  }
  return accepted(await na.request('POST', '/agreements/verify', { body: { agreement, ...keys } }))['reason']
}

describe('POST /admin/agreements/cosign', () => {
  it('adds the signature of the offerer and changes nothing else, and audits it', async () => {
    const offer = await offered()
    const agreement = { ...half(offer), note: 'not signed' }
    expect(await verify(agreement)).toBe('invalid_offerer_signature')
    const answer = await cosign(agreement, offer)
    const record = accepted(answer, 201)
    const { signatures, ...rest } = record
    const { signatures: before, ...others } = agreement as JsonObject
    expect(rest).toEqual(others)
    expect(signatures).toEqual([...(before as JsonValue[]), { key_id: 'na-test', sig: expect.any(String) }])
    expect(await verify(record)).toBe('accepted')
    // Signed by both: a change of the graph is reported, and ends nothing.
    const told = async (): Promise<JsonObject> =>
      accepted(await na.request('POST', '/agreements/verify', { body: { agreement: record } }))
    expect(await told()).toMatchObject({ accepted: true, signed_by_both: true, graph_changed: false })
    const body = { subject_sovereign_id: 'later-net', subject_public_keys: [foreignSovereign('later-net').publicKey] }
    const scope = { allowed_roles: ['role:client'] }
    accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', { ...body, scope }), 201)
    expect(await told()).toMatchObject({ accepted: true, signed_by_both: true, graph_changed: true })
    const received = readReceived(agreementRecordForm, record)
    expect(await verifyReceived(received, [na.genesis.network_authority.public_key])).toEqual({ ok: true })
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['agreement_cosigned'])
    expect(detailsOf(events[0])).toMatchObject({
      agreement_id: record['agreement_id'],
      offer_id: offer['offer_id'],
      offerer_sovereign_id: 'TEST-NET',
      responder_sovereign_id: 'bolt-net',
      capabilities: ['ledger.read'],
    })
    const { recent_changes } = accepted(await na.request('GET', '/dashboard.json'))
    const shown = (recent_changes as JsonObject[]).find((change) => change['event_type'] === 'agreement_cosigned')
    expect(shown?.['details']).toMatchObject({
      agreement_id: record['agreement_id'],
      responder_sovereign_id: 'bolt-net',
    })
  })

  it('returns a record that is already signed with 200, unchanged and without an event', async () => {
    const offer = await offered()
    const record = accepted(await cosign(half(offer), offer), 201)
    const again = await cosign(record, offer)
    expect(accepted(again, 200)).toEqual(record)
    expect(await eventsOf(na, again)).toEqual([])
  })

  it('returns the stored record for an Idempotency-Key, and refuses another request under it', async () => {
    const offer = await offered()
    const headers = { 'Idempotency-Key': 'cosign-1' }
    const first = accepted(await cosign(half(offer), offer, headers), 201)
    expect(await cosign(first, offer, headers)).toMatchObject({ status: 409 })
    const other = await offered()
    const agreement = half(other)
    const key = { 'Idempotency-Key': 'cosign-2' }
    const record = accepted(await cosign(agreement, other, key), 201)
    expect(accepted(await cosign(agreement, other, key), 201)).toEqual(record)
  })

  it('accepts both as text', async () => {
    const offer = await offered({ scope: { rows: 5 } })
    const body = { agreement_text: writeJson(half(offer)), original_offer_text: writeJson(offer) }
    accepted(await na.as('standard')('POST', '/admin/agreements/cosign', body), 201)
  })

  it('makes a record on which decisions are made', async () => {
    const offer = await offered()
    const agreement = accepted(await cosign(half(offer), offer), 201)
    const body = { agreement, requested_capability: 'ledger.read' }
    expect(accepted(await na.as('standard')('POST', '/admin/boundary/decide', body), 201)['authorized']).toBe(true)
  })

  describe('refuses', () => {
    it('missing and malformed members', async () => {
      const offer = await offered()
      const agreement = half(offer)
      for (const body of [{}, { agreement }, { original_offer: offer }, { agreement: null, original_offer: offer }]) {
        const answer = await na.as('standard')('POST', '/admin/agreements/cosign', body)
        refused(answer, 400, 'missing_cosign_fields')
      }
      refused(await cosign({ ...agreement, agreed_terms: 1 }, offer), 400, 'invalid_agreement')
      refused(await cosign(agreement, { ...offer, requested_terms: 1 }), 400, 'invalid_offer')
    })

    it.each<[string, () => Promise<[JsonObject, JsonObject]>]>([
      [
        'not_a_party',
        async () => {
          const offer = await offered()
          return [half(offer, { offerer_sovereign_id: 'bolt-net', responder_sovereign_id: 'TEST-NET' }), offer]
        },
      ],
      [
        'not_a_party',
        async () => {
          const offer = await offered()
          return [half(offer), { ...offer, offerer_sovereign_id: 'bolt-net' }]
        },
      ],
      [
        'offer_signature_invalid',
        async () => {
          const offer = await offered()
          return [half(offer), { ...offer, expires_at: '2027-01-01T00:00:00Z' }]
        },
      ],
      ['offer_mismatch', async () => [half(await offered()), await offered()]],
      [
        'offer_mismatch',
        async () => {
          const offer = await offered()
          const terms = offer['requested_terms'] as unknown as ForeignObject
          return [half(offer, { agreed_terms: { ...terms, scope: { rows: new FloatNumber(5) } } }), offer]
        },
      ],
      [
        'terms_mismatch',
        async () => {
          const offer = await offered()
          return [half(offer, { expires_at: '2026-02-03T00:00:00Z' }), offer]
        },
      ],
      [
        'responder_signature_invalid',
        async () => {
          const offer = await offered()
          return [half(offer, {}, []), offer]
        },
      ],
      [
        'responder_signature_invalid',
        async () => {
          const offer = await offered()
          return [half(offer, {}, [stranger]), offer]
        },
      ],
      [
        'responder_signature_invalid',
        async () => {
          const offer = await offered({ responder_sovereign_id: 'no-treaty-net' })
          return [half(offer, { responder_sovereign_id: 'no-treaty-net' }), offer]
        },
      ],
      ...(
        [
          { verdict: 'allow' },
          evidence({}, stranger),
          evidence({ source_sovereign_id: 'cedar-net' }),
          evidence({ target_sovereign_id: 'cedar-net' }),
          evidence({ issued_at: '2026-01-03T00:05:01Z' }),
        ] as const
      ).map((responder_evidence): [string, () => Promise<[JsonObject, JsonObject]>] => [
        'responder_evidence_invalid',
        async () => {
          const offer = await offered()
          return [half(offer, { responder_evidence }), offer]
        },
      ]),
      [
        'offer_expired',
        async () => {
          const offer = await offered({ valid_until: '2026-01-02T03:00:00Z' })
          return [half(offer), offer]
        },
      ],
      [
        'offerer_blocked',
        async () => {
          const offer = await blockedOffer()
          const own = { issuer_sovereign_id: 'late-net', source_sovereign_id: 'late-net' }
          const changes = { responder_sovereign_id: 'late-net', responder_evidence: evidence(own, late) }
          return [half(offer, changes, [late]), offer]
        },
      ],
      [
        'too_many_signatures',
        async () => {
          const offer = await offered()
          return [half(offer, {}, [bolt, ...Array<ForeignSovereign>(7).fill(stranger)]), offer]
        },
      ],
    ])('%s', async (reason, make) => {
      const [agreement, offer] = await make()
      expect(await reasonOf(agreement, offer)).toBe(reason)
    })

    /** An offer whose evidence is a block: made while no treaty is active. */
    async function blockedOffer(): Promise<JsonObject> {
      const offer = await offered({ responder_sovereign_id: 'late-net' })
      const scope = { allowed_roles: ['role:client'] }
      const treaty = { subject_sovereign_id: 'late-net', subject_public_keys: [late.publicKey], scope }
      accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
      return offer
    }

    it('an agreement later than one day after the end of its offer', async () => {
      const offer = await offered()
      const agreement = half(offer)
      clock.advance(Number(hours(44)) / 1_000_000)
      accepted(await cosign(agreement, offer), 201)
      clock.advance(Number(hours(2)) / 1_000_000)
      expect(await reasonOf(agreement, offer)).toBe('offer_expired')
    })
  })
})
