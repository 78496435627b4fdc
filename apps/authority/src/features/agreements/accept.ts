import { Refusal } from '@chancery/contract'
import {
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  checkAcceptableCounter,
  checkAcceptableOffer,
  checkCosignable,
  checkCounterable,
  draftAgreementFromCounter,
  draftAgreementFromOffer,
  draftCapabilityCounter,
  readReceived,
  verifyReceived,
} from '@chancery/protocol'
import type {
  AgreementRecord,
  AgreementTerms,
  Instant,
  JsonObject,
  JsonValue,
  NegotiationReason,
  Verdict,
} from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { readCosignRequest, readCounterRequest } from './requests.ts'
import { findOfferMaker } from './queries.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { TrustEvidenceIssuer } from '../trust-evidence/index.ts'

export interface AgreementsParts extends FeatureBase, Pick<Core, 'clockCheck' | 'purgeClock'> {
  readonly settings: Pick<AuthoritySettings, 'ownOfferAcceptance'>
  readonly connectome: Connectome
  readonly recognitionTreaties: RecognitionTreaties
  readonly trustEvidence: TrustEvidenceIssuer
}

const REJECTED = 'accept_rejected'

/** Drafts the record, after the checks that it is acceptable. */
type Draft = (now: Instant) => AgreementRecord

/**
 * POST /admin/agreements/accept
 * Signs the agreement that follows from an offer, or from a counter to an own offer.
 */
export async function accept(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { offer, counter, original_offer } = call.body
  const draft =
    isPresent(counter) && isPresent(original_offer)
      ? await fromCounter(call, parts, counter, original_offer)
      : isPresent(offer)
        ? await fromOffer(call, parts, offer)
        : undefined
  if (draft === undefined) throw new Refusal('missing_accept_fields')
  const kind = { form: agreementRecordForm, failed: REJECTED, event: 'agreement_accepted', named: NAMED } as const
  return issueRecord(call, parts, { ...kind, draft, store: (_tx, { agreed_terms }) => capabilitiesOf(agreed_terms) })
}

const NAMED = ['agreement_id', 'offer_id', 'offerer_sovereign_id', 'responder_sovereign_id'] as const

function capabilitiesOf({ capabilities }: AgreementTerms): JsonObject {
  return { capabilities }
}

async function fromOffer(call: OperatorCall, parts: AgreementsParts, given: JsonValue): Promise<Draft> {
  const offer = readOrRefuse(REJECTED, () => readReceived(capabilityOfferForm, given))
  const { offerer_sovereign_id, responder_sovereign_id } = offer.record
  requireGood(
    await checkAcceptableOffer(offer, {
      own_sovereign_id: parts.network.name,
      offererKeys: (await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id)).keys,
      now: parts.clock.now(),
    }),
  )
  if (offerer_sovereign_id === parts.network.name) await requireSecondKey(call, parts, offer.record.offer_id)
  const parties = { source: responder_sovereign_id, target: offerer_sovereign_id }
  const evidence = await parts.trustEvidence.issueFinding(parties, REJECTED)
  return (now) => draftAgreementFromOffer({ agreement_id: parts.ids.uuid(), offer: offer.record, evidence, now })
}

async function fromCounter(
  call: OperatorCall,
  parts: AgreementsParts,
  given: JsonValue,
  original: JsonValue,
): Promise<Draft> {
  const counter = readOrRefuse(REJECTED, () => readReceived(capabilityCounterForm, given))
  const offer = readOrRefuse(REJECTED, () => readReceived(capabilityOfferForm, original))
  const responderKeys = (await parts.recognitionTreaties.findPartyKeys(offer.record.responder_sovereign_id)).keys
  requireGood(
    await checkAcceptableCounter(counter, offer, {
      own_sovereign_id: parts.network.name,
      ownKey: parts.signing.publicKey,
      responderKeys,
      now: parts.clock.now(),
    }),
  )
  const isAnswered = (await verifyReceived(counter, responderKeys)).ok
  if (!isAnswered) await requireSecondKey(call, parts, offer.record.offer_id)
  return (now) => draftAgreementFromCounter({ agreement_id: parts.ids.uuid(), counter: counter.record, now })
}

/**
 * Accepting an own offer that the other party did not answer makes an agreement that only this authority signed. With
 * NA_OWN_OFFER_ACCEPTANCE=second-key it takes two operator keys, and an offer without a stored maker is refused.
 */
async function requireSecondKey(call: OperatorCall, parts: AgreementsParts, offer_id: string): Promise<void> {
  if (parts.settings.ownOfferAcceptance === 'any-key') return
  const maker = await findOfferMaker(parts.database.read, offer_id)
  if (maker === undefined) throw new Refusal(REJECTED, { reason: 'offer_maker_unknown' })
  if (maker === call.operator.publicKey) throw new Refusal(REJECTED, { reason: 'own_offer_same_key' })
}

function requireGood(verdict: Verdict<NegotiationReason>): void {
  if (!verdict.ok) throw new Refusal(REJECTED, { reason: verdict.reason })
}

/**
 * POST /admin/agreements/counter
 * Responds to an offer with other terms, never with more than it offers. The authority may counter its own offer on
 * behalf of the responder; the resulting agreement is its own.
 */
export async function counterOffer(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { offer, terms } = readCounterRequest(call.body)
  const { offerer_sovereign_id, responder_sovereign_id, requested_terms } = offer.record
  const verdict = await checkCounterable(offer, {
    capabilities: terms.capabilities,
    own_sovereign_id: parts.network.name,
    offererKeys: (await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id)).keys,
    now: parts.clock.now(),
  })
  if (!verdict.ok) throw new Refusal('counter_rejected', { reason: verdict.reason })
  const parties = { source: responder_sovereign_id, target: offerer_sovereign_id }
  const evidence = await parts.trustEvidence.issueFinding(parties, 'counter_rejected')
  const agreed_terms = { ...terms, freshness_commitment: requested_terms.freshness_commitment }
  return issueRecord(call, parts, {
    form: capabilityCounterForm,
    failed: 'counter_rejected',
    event: 'capability_counter_built',
    named: ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id'],
    draft: () => draftCapabilityCounter({ offer: offer.record, agreed_terms, evidence }),
    store: () => capabilitiesOf(agreed_terms),
  })
}

/**
 * POST /admin/agreements/cosign
 * Adds the signature of this authority, the offerer, to an agreement that the responder accepted. The rest of the
 * record stays as received. A record that already has the signature is returned with 200.
 */
export async function cosign(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { agreement, offer } = readCosignRequest(call.body)
  const { responder_sovereign_id, agreed_terms } = agreement.record
  const verdict = await checkCosignable(agreement, offer, {
    own: { sovereign_id: parts.network.name, keys: parts.keys.all },
    responderKeys: (await parts.recognitionTreaties.findPartyKeys(responder_sovereign_id)).keys,
    now: parts.clock.now(),
  })
  if (!verdict.ok) throw new Refusal('cosign_rejected', { reason: verdict.reason })
  return issueRecord(call, parts, {
    form: agreementRecordForm,
    failed: 'cosign_rejected',
    event: 'agreement_cosigned',
    named: NAMED,
    existing: verdict.isSigned ? agreement.wire : undefined,
    // Unsigned members stay, too: the record is returned as received.
    draft: () => agreement.wire as unknown as AgreementRecord,
    store: () => capabilitiesOf(agreed_terms),
  })
}

function isPresent(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null
}
