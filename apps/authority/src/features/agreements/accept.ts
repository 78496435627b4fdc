import { Refusal } from '@chancery/contract'
import {
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  checkAcceptableCounter,
  checkAcceptableOffer,
  draftAgreementFromCounter,
  draftAgreementFromOffer,
  readReceived,
  verifyReceived,
} from '@chancery/protocol'
import type { AgreementRecord, Instant, JsonValue, NegotiationReason, Verdict } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readOr } from '../../reading.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { vouchedKeys } from '../recognition-treaties/index.ts'
import { issueFinding } from '../trust-evidence/index.ts'
import { findOfferMaker } from './store.ts'

const REJECTED = 'accept_rejected'

/** Drafts the record, once it is known to be acceptable. */
type Draft = (now: Instant) => AgreementRecord

/**
 * POST /admin/agreements/accept
 * Signs the agreement that follows from an offer, or from a counter to our own offer.
 */
export async function accept(call: OperatorCall, office: Office): Promise<Answer> {
  const { offer, counter, original_offer } = call.body
  const draft =
    isPresent(counter) && isPresent(original_offer)
      ? await fromCounter(call, office, counter, original_offer)
      : isPresent(offer)
        ? await fromOffer(call, office, offer)
        : undefined
  if (draft === undefined) throw new Refusal('missing_accept_fields')
  return issueRecord(call, office, async (_tx, now) => {
    const record = await sealOr(REJECTED, office, agreementRecordForm, draft(now))
    const { agreement_id, offer_id, offerer_sovereign_id, responder_sovereign_id } = record
    const { capabilities } = record.agreed_terms
    const details = { agreement_id, offer_id, offerer_sovereign_id, responder_sovereign_id, capabilities }
    return { record, type: 'agreement_accepted', details }
  })
}

async function fromOffer(call: OperatorCall, office: Office, given: JsonValue): Promise<Draft> {
  const offer = readOr(REJECTED, () => readReceived(capabilityOfferForm, given))
  const { offerer_sovereign_id, responder_sovereign_id } = offer.record
  requireGood(
    await checkAcceptableOffer(offer, {
      own_sovereign_id: office.genesis.network_name,
      offererKeys: (await vouchedKeys(office, offerer_sovereign_id)).keys,
      now: office.clock.now(),
    }),
  )
  if (offerer_sovereign_id === office.genesis.network_name) await requireSecondKey(call, office, offer.record.offer_id)
  const parties = { source: responder_sovereign_id, target: offerer_sovereign_id }
  const evidence = await issueFinding(office, parties, REJECTED)
  return (now) => draftAgreementFromOffer({ agreement_id: office.ids.uuid(), offer: offer.record, evidence, now })
}

async function fromCounter(call: OperatorCall, office: Office, given: JsonValue, original: JsonValue): Promise<Draft> {
  const counter = readOr(REJECTED, () => readReceived(capabilityCounterForm, given))
  const offer = readOr(REJECTED, () => readReceived(capabilityOfferForm, original))
  const responderKeys = (await vouchedKeys(office, offer.record.responder_sovereign_id)).keys
  requireGood(
    await checkAcceptableCounter(counter, offer, {
      own_sovereign_id: office.genesis.network_name,
      ownKey: office.signer.publicKey,
      responderKeys,
      now: office.clock.now(),
    }),
  )
  const isAnswered = (await verifyReceived(counter, responderKeys)).ok
  if (!isAnswered) await requireSecondKey(call, office, offer.record.offer_id)
  return (now) => draftAgreementFromCounter({ agreement_id: office.ids.uuid(), counter: counter.record, now })
}

/**
 * An offer of our own that the other side did not answer becomes an agreement by our word alone. With
 * NA_OWN_OFFER_ACCEPTANCE=second-key that takes two operator keys; an offer whose maker is not known is refused.
 */
async function requireSecondKey(call: OperatorCall, office: Office, offer_id: string): Promise<void> {
  if (office.settings.ownOfferAcceptance === 'any-key') return
  const maker = await findOfferMaker(office.store.db, offer_id)
  if (maker === undefined) throw new Refusal(REJECTED, { reason: 'offer_maker_unknown' })
  if (maker === call.operator.publicKey) throw new Refusal(REJECTED, { reason: 'own_offer_same_key' })
}

function requireGood(verdict: Verdict<NegotiationReason>): void {
  if (!verdict.ok) throw new Refusal(REJECTED, { reason: verdict.reason })
}

function isPresent(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null
}
