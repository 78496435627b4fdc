import { Refusal, agreements } from '@chancery/contract'
import {
  agreementRecordForm,
  capabilityOfferForm,
  draftCapabilityOffer,
  instantOf,
  readReceived,
  shape,
  trustAgreement,
  verifyAgreement,
  verifyTwoParties,
  writeSortable,
} from '@chancery/protocol'
import type { AgreementRecord, JsonObject, JsonValue, Received } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import { type AgreementsParts, accept, cosign, counterOffer } from './accept.ts'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readMember, readOrRefuse, readTrustKeys, requirePresent, respondVerdict } from '../../requests/read-fields.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import { insertOfferMaker, purgeOfferMakers } from './queries.ts'
import type { Call, HttpResponse } from '@chancery/service-kit'
import { issueRecord } from '../../requests/signed-record.ts'
import { readOfferRequest } from './requests.ts'

/**
 * POST /admin/agreements/offer
 * Offers capabilities to another sovereign. The offer is signed whatever the trust verdict is. It records the verdict
 * for the party that counters or accepts.
 */
async function offer(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { terms, ...request } = readOfferRequest(call.body)
  const own = parts.network.name
  const { responder_sovereign_id } = request
  // The two parties must differ. Otherwise one party signs for both.
  if (responder_sovereign_id === own) throw new Refusal('offer_rejected', { field: 'responder_sovereign_id' })
  const parties = { source: own, target: responder_sovereign_id }
  const evidence = await parts.trustEvidence.issueFinding(parties, 'offer_rejected')
  const [offer_id, requested_terms] = [parts.ids.uuid(), { ...terms, freshness_commitment: 0 }]
  return issueRecord(call, parts, {
    form: capabilityOfferForm,
    failed: 'offer_rejected',
    event: 'capability_offer_built',
    named: ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id'],
    draft: (now) => draftCapabilityOffer({ ...request, offer_id, requested_terms, evidence, now }),
    store: async (tx, { expires_at }) => {
      const made = { offer_id, operator_public_key: call.operator.publicKey }
      await insertOfferMaker(tx, { ...made, expires_at: writeSortable(instantOf(expires_at)) })
      return { capabilities: terms.capabilities }
    },
  })
}

/**
 * POST /agreements/verify
 * Verifies an agreement with the given keys of its parties, or with those that treaties name. That both signed, that it
 * is in force, and that the graph has changed since are three statements. Only an own record that has the signature of
 * this authority alone is bound to the current graph, unless the caller asks for separate statements. Writes nothing.
 */
async function verify(call: Call, parts: AgreementsParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'agreement', 'missing_agreement')
  const agreement = readOrRefuse('invalid_agreement', () => readReceived(agreementRecordForm, given))
  const isSeparate = readMember(call.body['separate_graph'], false, shape.boolean, 'invalid_input')
  const own = parts.keys.all
  const supplied = readTrustKeys(call.body, 'offerer_public_keys', [])
  const responderKeys = readTrustKeys(call.body, 'responder_public_keys', own)
  const offererKeys = supplied.length === 0 ? own : supplied
  const isTold = supplied.length > 0 || responderKeys !== own
  const { agreement_id, offerer_sovereign_id } = agreement.record
  const each = await verifyTwoParties(
    agreement,
    isTold ? { offererKeys, responderKeys } : await findKeys(parts, agreement.record),
  )
  const isOfOthers = offerer_sovereign_id !== parts.network.name
  const isEachKnown = !isTold && (each.ok || isOfOthers)
  const isBound = supplied.length === 0 && !isSeparate
  const expectedGraphDigest = isBound && !isEachKnown ? await parts.connectome.graphDigest() : undefined
  const verdict = isEachKnown
    ? each
    : await verifyAgreement(agreement, { offererKeys, responderKeys, expectedGraphDigest })
  const answer = { ...respondVerdict(call, parts, verdict, 'accepted'), agreement_id }
  if (!isSeparate && !(isEachKnown && verdict.ok)) return answer
  return { ...answer, signed_by_both: each.ok, ...(await stateOf(parts, agreement)) }
}

async function findKeys(parts: AgreementsParts, { offerer_sovereign_id, responder_sovereign_id }: AgreementRecord) {
  const { keys: offererKeys } = await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id)
  const { keys: responderKeys } = await parts.recognitionTreaties.findPartyKeys(responder_sovereign_id)
  return { offererKeys, responderKeys }
}

/** The graph of a record is that of its offerer. Of another offerer it is not known here whether it has changed. */
async function stateOf(parts: AgreementsParts, { record }: Received<AgreementRecord>): Promise<JsonObject> {
  const { offerer_sovereign_id, graph_digest, agreed_terms } = record
  const now = parts.clock.now()
  const isOwn = offerer_sovereign_id === parts.network.name
  return {
    in_force: instantOf(agreed_terms.valid_from) <= now && now <= instantOf(agreed_terms.valid_until),
    graph_changed: isOwn ? graph_digest !== (await parts.connectome.graphDigest()) : null,
  }
}

/**
 * Reads a presented agreement. An agreement that is not trusted is refused and audited (protocol/trust-operations
 * 3.10). Keys in the request are ignored, because the presenter must not choose the keys that verify the record.
 */
export async function loadTrustedAgreement(
  call: OperatorCall,
  parts: AgreementsParts,
  given: JsonValue,
): Promise<Received<AgreementRecord>> {
  const agreement = readOrRefuse('invalid_agreement', () => readReceived(agreementRecordForm, given))
  const { agreement_id, offerer_sovereign_id, responder_sovereign_id } = agreement.record
  const trust = await trustAgreement(agreement, {
    own: { sovereign_id: parts.network.name, keys: parts.keys.all },
    offerer: await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id),
    responder: await parts.recognitionTreaties.findPartyKeys(responder_sovereign_id),
  })
  if (trust.ok) return agreement
  const found = { reason: trust.reason, ...(trust.party === undefined ? {} : { party: trust.party }) }
  const named = { route: call.routeId, agreement_id, offerer_sovereign_id, responder_sovereign_id }
  const event = { type: 'agreement_untrusted', details: { ...named, ...found, ...requestDetails(call) } } as const
  await parts.audit.recordAlone([event])
  throw new Refusal('agreement_untrusted', found)
}

export interface Agreements extends Feature {
  loadTrustedAgreement(call: OperatorCall, given: JsonValue): Promise<Received<AgreementRecord>>
}

export function openAgreements(parts: AgreementsParts): Agreements {
  const { clockCheck, database, purgeClock } = parts
  return {
    routes: [
      bind(agreements.offer, (call) => offer(call, parts)),
      bind(agreements.counter, (call) => counterOffer(call, parts)),
      bind(agreements.accept, (call) => accept(call, parts)),
      bind(agreements.cosign, (call) => cosign(call, parts)),
      bind(agreements.verify, (call) => verify(call, parts)),
    ],
    jobs: [
      {
        name: 'purge-offer-makers',
        everySeconds: 600,
        run: whenClockIsCorrect(clockCheck, (signal) =>
          purgeOfferMakers(database, writeSortable(purgeClock.daily.now()), signal),
        ),
      },
    ],
    loadTrustedAgreement: (call, given) => loadTrustedAgreement(call, parts, given),
    close: () => Promise.resolve(),
  }
}
