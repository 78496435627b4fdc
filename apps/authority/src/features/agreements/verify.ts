import {
  agreementRecordForm,
  instantOf,
  readReceived,
  shape,
  verifyAgreement,
  verifyTwoParties,
} from '@chancery/protocol'
import type { AgreementRecord, JsonObject, Received } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { AgreementsParts } from './parts.ts'
import { readMember, readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /agreements/verify
 * Verifies an agreement with the given keys of its parties, or with those that treaties name. That both signed, that it
 * is in force, and that the graph has changed since are three statements. Only an own record that has the signature of
 * this authority alone is bound to the current graph, unless the caller asks for separate statements. Writes nothing.
 */
export async function verify(call: Call, parts: AgreementsParts): Promise<JsonObject> {
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
  const reason = verdict.ok ? 'accepted' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  const answer = { accepted: verdict.ok, reason, agreement_id }
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
