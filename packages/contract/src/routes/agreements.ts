import {
  type AgreementRecord,
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  form,
  readReceived,
  shape,
} from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import { flag, listOf, record, recordOrText, signedRecord, text } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, nullable, open, optional, required, withDefault } = shape

const shownAgreement = required(recordOrText(record('agreement-record', agreementRecordForm.read)))
const shownOffer = recordOrText(record('capability-offer', capabilityOfferForm.read))
const shownCounter = recordOrText(record('capability-counter', capabilityCounterForm.read))

/** What one party offers the other (protocol/trust-operations 3.6). Times are ISO 8601. */
const terms = {
  capabilities: listOf(shape.string, form.MAX_ITEMS),
  scope: optional(shape.object),
  valid_from: text,
  valid_until: text,
}

const keys = optional(arrayOf(shape.string, { max: 64 }))
/** Absent at an authority of an earlier release. */
const stated = withDefault<boolean | null>(nullable(shape.boolean), null)

const facts = {
  offer: {
    id: 'POST /admin/agreements/offer',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Offer an agreement',
    purpose: 'Builds and signs a capability offer for another sovereign.',
    errors: ['conflict', 'invalid_timestamp_order', 'invalid_timestamps', 'missing_offer_fields', 'offer_rejected'],
    repeatable: true,
    body: openBody(
      'missing_offer_fields',
      {
        responder_sovereign_id: text,
        ...terms,
        /** Latest time of acceptance. */
        expires_at: text,
      },
      {
        responder_sovereign_id: '<sovereign id>',
        capabilities: ['payments.read'],
        scope: {},
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2027-01-01T00:00:00Z',
        expires_at: '2027-01-01T00:00:00Z',
      },
    ),
    answer: signedRecord('capability-offer', capabilityOfferForm),
    gateway: { operation: 'agreement-build-offer-route', group: 'agreement' },
  },
  counter: {
    id: 'POST /admin/agreements/counter',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Counter an offer',
    purpose: 'Builds and signs narrower terms in answer to an offer.',
    errors: [
      'conflict',
      'counter_rejected',
      'invalid_offer',
      'invalid_timestamp_order',
      'invalid_timestamps',
      'missing_counter_fields',
    ],
    repeatable: true,
    body: openBody(
      'missing_counter_fields',
      { offer: required(shownOffer), ...terms },
      {
        offer: { paste: '<capability offer>' },
        capabilities: ['payments.read'],
        scope: {},
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2027-01-01T00:00:00Z',
      },
    ),
    answer: signedRecord('capability-counter', capabilityCounterForm),
    records: { offer: 'invalid_offer' },
    gateway: { operation: 'agreement-build-counter-route', group: 'agreement' },
  },
  accept: {
    id: 'POST /admin/agreements/accept',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Accept an offer or a counter',
    purpose: 'Signs the agreement record that follows from an offer or a counter.',
    errors: ['accept_rejected', 'conflict', 'missing_accept_fields'],
    repeatable: true,
    body: openBody(
      'missing_accept_fields',
      /** An unchanged offer; or a counter and the own offer that it answers. */
      { offer: optional(shownOffer), counter: optional(shownCounter), original_offer: optional(shownOffer) },
      { offer: { paste: '<capability offer>' } },
    ),
    answer: signedRecord('agreement-record', agreementRecordForm),
    records: { offer: 'accept_rejected', counter: 'accept_rejected', original_offer: 'accept_rejected' },
    gateway: { operation: 'agreement-accept-route', group: 'agreement' },
  },
  cosign: {
    id: 'POST /admin/agreements/cosign',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Sign an accepted agreement as the offerer',
    purpose: 'Adds the signature of the offerer to an agreement that the responder accepted.',
    errors: ['conflict', 'cosign_rejected', 'invalid_agreement', 'invalid_offer', 'missing_cosign_fields'],
    repeatable: true,
    body: openBody(
      'missing_cosign_fields',
      {
        /** The responder accepted it. */
        agreement: shownAgreement,
        original_offer: required(shownOffer),
      },
      { agreement: { paste: '<agreement record>' }, original_offer: { paste: '<capability offer>' } },
    ),
    /** With every member as received. */
    answer: record(
      'agreement-record',
      (value) => readReceived(agreementRecordForm, value).wire as unknown as AgreementRecord,
    ),
    records: { agreement: 'invalid_agreement', original_offer: 'invalid_offer' },
    gateway: { operation: 'agreement-cosign-route', group: 'agreement', since: 'v0.60' },
  },
  verify: {
    id: 'POST /agreements/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an agreement',
    purpose: 'Verifies an agreement record without storing anything.',
    errors: ['invalid_agreement', 'invalid_input', 'invalid_public_keys', 'missing_agreement'],
    body: openBody(
      'invalid_agreement',
      {
        agreement: shownAgreement,
        /** Without keys the authority uses those that its treaties name. */
        offerer_public_keys: keys,
        responder_public_keys: keys,
        separate_graph: optional(shape.boolean),
      },
      {
        agreement: { paste: '<agreement record>' },
        offerer_public_keys: ['<public key>'],
        responder_public_keys: ['<public key>'],
      },
    ),
    answer: open({
      /** The signatures are valid. Whether it is in force, and whether the graph has changed, are separate statements. */
      accepted: flag,
      reason: text,
      agreement_id: text,
      /** Each party signed with its own key; false: the key of the offering authority stands for both. Null: not stated. */
      signed_by_both: stated,
      /** Now is within the agreed window. Null: not stated. */
      in_force: stated,
      /** The recognition graph of the offerer is another one since. Null: not known to the authority that was asked. */
      graph_changed: stated,
    }),
    idempotent: true,
    records: { agreement: 'invalid_agreement' },
    gateway: { operation: 'agreement-verify-route', group: 'agreement' },
  },
} as const

/** Negotiation of capabilities between two sovereigns (protocol/trust-operations 3). */
export const agreements: Routes<typeof facts> = routes(facts)

export type OfferRequest = SentOf<typeof agreements.offer>
export type AgreementTermsRequest = Pick<OfferRequest, keyof typeof terms>
/** protocol/trust-operations 3.9: a negative result is a verdict, not an error. */
export type AgreementVerdict = AnswerOf<typeof agreements.verify>
