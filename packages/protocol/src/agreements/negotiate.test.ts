import { beforeAll, describe, expect, it } from 'vitest'
import {
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  draftAgreementFromCounter,
  draftAgreementFromOffer,
  draftCapabilityCounter,
} from '../artifacts/capability-offer.ts'
import type { CapabilityCounter, CapabilityOffer } from '../artifacts/capability-offer.ts'
import { draftTrustEvidence } from '../artifacts/trust-evidence.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import { toBase64 } from '../canonical/base64.ts'
import { readInstant } from '../canonical/time.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { asJson } from '../signing/verify-any.ts'
import { asReceived, readReceived, signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { checkAcceptableCounter, checkAcceptableOffer, checkCounterable } from './cosign.ts'
import { verifyAgreement } from './verify-agreement.ts'

const now = readInstant('2027-03-04T12:00:00Z') ?? 0n
const evidence = { evidence_id: 'e', verdict: 'allow' }
const offered: CapabilityOffer = {
  offer_id: 'o-1',
  offerer_sovereign_id: 'bolt-net',
  responder_sovereign_id: 'acme-net',
  requested_terms: {
    capabilities: ['read', 'append'],
    scope: {},
    valid_from: '2027-03-04T00:00:00Z',
    valid_until: '2027-04-04T00:00:00Z',
    freshness_commitment: 3,
  },
  graph_digest: 'g',
  offerer_evidence: evidence,
  expires_at: '2027-03-04T12:00:00Z',
  created_at: '2027-03-04T00:00:00Z',
  signatures: [],
}
const responderFinding = draftTrustEvidence({
  evidence_id: 'e-2',
  issuer_sovereign_id: 'acme-net',
  finding: {
    source_sovereign_id: 'acme-net',
    target_sovereign_id: 'bolt-net',
    verdict: 'allow',
    reason: 'active_treaty_path',
    requested_roles: [],
    trusted: true,
    hop_count: 1,
    signals: [],
    evaluated_at: '2027-03-04T12:00:00Z',
  },
  graph_digest: 'g',
  issued_by: 'na',
  now,
})

let na: Signer
let bolt: Signer
beforeAll(async () => {
  na = await seedSigner('na', toBase64(new Uint8Array(32).fill(1)))
  bolt = await seedSigner('bolt', toBase64(new Uint8Array(32).fill(2)))
})
const said = (verdict: Verdict<string>): string => (verdict.ok ? 'good' : verdict.reason)
const offer = async (change: Partial<CapabilityOffer> = {}, by: Signer = bolt): Promise<JsonObject> =>
  asJson(await signForm(capabilityOfferForm, { ...offered, ...change }, by))

type OfferChange = readonly [name: string, change: Partial<CapabilityOffer>, wanted: string]
const OFFER_RULES: readonly OfferChange[] = [
  ['to us', {}, 'good'],
  ['between others', { responder_sovereign_id: 'cedar-net' }, 'not_a_party'],
  ['that has just expired', { expires_at: '2027-03-04T11:59:59.999999Z' }, 'offer_expired'],
  ['whose offerer blocks us', { offerer_evidence: { verdict: 'block' } }, 'offerer_blocked'],
]

describe('an offer', () => {
  it.each(OFFER_RULES)('%s, countered', async (_name, change, wanted) => {
    const verdict = await checkCounterable(readReceived(capabilityOfferForm, await offer(change)), {
      capabilities: ['read'],
      own_sovereign_id: 'acme-net',
      offererKeys: [bolt.publicKey],
      now,
    })
    expect(said(verdict)).toBe(wanted)
  })

  it.each(OFFER_RULES)('%s, accepted', async (_name, change, wanted) => {
    const verdict = await checkAcceptableOffer(readReceived(capabilityOfferForm, await offer(change)), {
      own_sovereign_id: 'acme-net',
      offererKeys: [bolt.publicKey],
      now,
    })
    expect(said(verdict)).toBe(wanted)
  })

  it('must be signed by the offerer, in exactly its form', async () => {
    const against = { own_sovereign_id: 'acme-net', offererKeys: [bolt.publicKey], now }
    const reason = async (value: JsonValue): Promise<string> =>
      said(await checkAcceptableOffer(readReceived(capabilityOfferForm, value), against))
    expect(await reason(await offer({}, na))).toBe('offer_signature_invalid')
    expect(await reason({ ...(await offer()), more: 1 })).toBe('offer_signature_invalid')
    const more = { ...offered, more: 1 } as CapabilityOffer
    expect(await reason(asJson(await signForm(capabilityOfferForm, more, bolt)))).toBe('offer_signature_invalid')
  })

  it('is not countered with more than it holds', async () => {
    const verdict = await checkCounterable(readReceived(capabilityOfferForm, await offer()), {
      capabilities: ['read', 'delete'],
      own_sovereign_id: 'acme-net',
      offererKeys: [bolt.publicKey],
      now,
    })
    expect(said(verdict)).toBe('capability_not_offered')
  })
})

describe('a counter to our offer', () => {
  const ownOffer = (change: Partial<CapabilityOffer> = {}, by: Signer = na): Promise<JsonObject> =>
    offer({ offerer_sovereign_id: 'acme-net', responder_sovereign_id: 'bolt-net', ...change }, by)
  const countered = async (
    base: JsonObject,
    change: Partial<CapabilityCounter> = {},
    by: Signer = bolt,
  ): Promise<JsonObject> => {
    const original = readReceived(capabilityOfferForm, base).record
    const agreed_terms = { ...original.requested_terms, capabilities: ['read'] }
    const drafted = draftCapabilityCounter({ offer: original, agreed_terms, evidence: responderFinding })
    return asJson(await signForm(capabilityCounterForm, { ...drafted, ...change }, by))
  }
  const reason = async (counter: JsonObject, base: JsonObject): Promise<string> =>
    said(
      await checkAcceptableCounter(
        readReceived(capabilityCounterForm, counter),
        readReceived(capabilityOfferForm, base),
        { own_sovereign_id: 'acme-net', ownKey: na.publicKey, responderKeys: [bolt.publicKey], now },
      ),
    )

  it('is accepted from the responder, and from us in its place', async () => {
    const base = await ownOffer()
    expect(await reason(await countered(base), base)).toBe('good')
    expect(await reason(await countered(base, {}, na), base)).toBe('good')
  })

  it('is refused when it leaves no room for our signature', async () => {
    const base = await ownOffer()
    const junk = (count: number): CapabilityCounter['signatures'] =>
      Array.from({ length: count }, (_, at) => ({ key_id: `k-${at}`, sig: 'x' }))
    const signed = await countered(base, { signatures: junk(6) })
    expect(await reason(signed, base)).toBe('good')
    const counter = readReceived(capabilityCounterForm, signed).record
    const record = draftAgreementFromCounter({ agreement_id: 'a-1', counter, now })
    const agreed = await signForm(agreementRecordForm, record, na)
    expect(readReceived(agreementRecordForm, asJson(agreed)).record.signatures).toHaveLength(8)
    expect(await reason(await countered(base, { signatures: junk(7) }), base)).toBe('too_many_signatures')
  })

  it.each<[string, Partial<CapabilityCounter>, string]>([
    ['another offer', { offer_id: 'o-2' }, 'offer_mismatch'],
    ['another responder', { responder_sovereign_id: 'cedar-net' }, 'offer_mismatch'],
    ['another graph', { graph_digest: 'h' }, 'offer_mismatch'],
    ['other evidence', { offerer_evidence: { ...evidence, verdict: 'warn' } }, 'offer_mismatch'],
    [
      'a capability that was not offered',
      { agreed_terms: { ...offered.requested_terms, capabilities: ['delete'] } },
      'capability_not_offered',
    ],
  ])('is refused with %s', async (_name, change, wanted) => {
    const base = await ownOffer()
    expect(await reason(await countered(base, change), base)).toBe(wanted)
  })

  it('is refused over an offer that is not ours, not signed by us, over, or a block', async () => {
    const foreign = await offer()
    expect(await reason(await countered(foreign), foreign)).toBe('not_a_party')
    const forged = await ownOffer({}, bolt)
    expect(await reason(await countered(forged), forged)).toBe('offer_signature_invalid')
    const over = await ownOffer({ expires_at: '2027-03-04T11:00:00Z' })
    expect(await reason(await countered(over), over)).toBe('offer_expired')
    const blocked = await ownOffer({ offerer_evidence: { verdict: 'block' } })
    expect(await reason(await countered(blocked), blocked)).toBe('offerer_blocked')
    const base = await ownOffer()
    const outsider = await seedSigner('s', toBase64(new Uint8Array(32).fill(3)))
    expect(await reason(await countered(base, {}, outsider), base)).toBe('counter_signature_invalid')
  })

  it('becomes a record both signatures hold for', async () => {
    const counter = readReceived(capabilityCounterForm, await countered(await ownOffer())).record
    const drafted = draftAgreementFromCounter({ agreement_id: 'a', counter, now })
    expect(drafted.expires_at).toBe('2027-04-04T00:00:00Z')
    expect(drafted.agreed_terms.freshness_commitment).toBe(3)
    const record = await signForm(agreementRecordForm, drafted, na)
    const keys = { offererKeys: [na.publicKey], responderKeys: [bolt.publicKey] }
    expect(await verifyAgreement(asReceived(agreementRecordForm, record), keys)).toEqual({ ok: true })
  })

  it('an offer accepted without changes has its terms', () => {
    const record = draftAgreementFromOffer({ agreement_id: 'a', offer: offered, evidence: responderFinding, now })
    expect(record.agreed_terms).toEqual(offered.requested_terms)
    expect(record.responder_evidence).toEqual(responderFinding)
    expect(record.established_at).toBe('2027-03-04T12:00:00Z')
    expect(record.signatures).toEqual([])
  })
})
