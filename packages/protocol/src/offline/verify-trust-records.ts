import { verifyTwoParties } from '../agreements/verify-agreement.ts'
import { agreementRecordForm } from '../artifacts/agreement-record.ts'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { BOUNDARY_POLICY_FORM } from '../artifacts/boundary-policy.ts'
import { commitmentForm } from '../artifacts/capability-commitment.ts'
import { capabilityCounterForm } from '../artifacts/capability-counter.ts'
import { membershipProofForm } from '../artifacts/capability-membership-proof.ts'
import { nullifierForm } from '../artifacts/capability-nullifier.ts'
import { capabilityOfferForm } from '../artifacts/capability-offer.ts'
import { accessIntentForm } from '../artifacts/data-access-intent.ts'
import { licensePolicyForm } from '../artifacts/data-license-policy.ts'
import { executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { freshnessProofForm } from '../artifacts/freshness-proof.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { storeAnchorForm } from '../artifacts/store-anchor.ts'
import { trustEvidenceForm } from '../artifacts/trust-evidence.ts'
import { voteForm } from '../artifacts/validator-vote.ts'
import { VALID, invalid } from '../artifacts/verdict.ts'
import { verifyBoundaryDecision } from '../boundary/verify-decision.ts'
import { readConsensusProof, verifyConsensusProof } from '../consensus/verify-consensus.ts'
import { verifyDisclosure } from '../disclosure/verify-disclosure.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { readReceived, verifyReceived } from '../signing/received.ts'
import { checkTime, isOfNetwork, partyKeys, signerKeys } from './trust-inputs.ts'
import type { RecordVerifier } from './trust-inputs.ts'
import type { TrustKindName } from './record-kind.ts'

interface Facts {
  /** Who speaks; undefined where peers write something else there. */
  readonly issuer?: string
  readonly from?: string
  readonly until?: string
}

/** A record that one party signed: the form check, then whose name it bears, then its time. */
function signedBy<Value>(form: RecordForm<Value>, factsOf: (record: Value) => Facts): RecordVerifier {
  return async (value, trust) => {
    const received = readReceived(form, value)
    const signed = await verifyReceived(received, signerKeys(trust, value))
    if (!signed.ok) return signed
    const { issuer, from, until } = factsOf(received.record)
    if (issuer !== undefined && !isOfNetwork(issuer, trust)) return invalid('wrong_issuer')
    return checkTime(from, until, trust.now)
  }
}

/** Both parties sign the same bytes, so each needs separate keys; the signed time counts. */
const agreementRecord: RecordVerifier = async (value, trust) => {
  const received = readReceived(agreementRecordForm, value)
  const { offerer_sovereign_id: offerer, responder_sovereign_id: responder, agreed_terms } = received.record
  if (!isOfNetwork(offerer, trust) && !isOfNetwork(responder, trust)) return invalid('wrong_issuer')
  const offererKeys = partyKeys(offerer, trust.offererKeys, trust)
  const responderKeys = partyKeys(responder, trust.responderKeys, trust)
  if (offererKeys.length === 0 || responderKeys.length === 0) return invalid('party_keys_needed')
  const verdict = await verifyTwoParties(received, { offererKeys, responderKeys })
  if (!verdict.ok) return verdict
  const { valid_from, valid_until } = agreed_terms
  return checkTime(valid_from, valid_until, trust.now)
}

/** A genuine denial holds: what it says is another question than whether it was said. */
const boundaryDecision: RecordVerifier = async (value, trust) => {
  const received = readReceived(boundaryDecisionForm, value)
  const verdict = await verifyBoundaryDecision(received, { keys: signerKeys(trust, value), now: trust.now })
  if (!verdict.accepted) return invalid(verdict.reason)
  return isOfNetwork(received.record.operator_sovereign_id, trust) ? VALID : invalid('wrong_issuer')
}

const membershipProof: RecordVerifier = async (value, trust) => {
  const proof = readReceived(membershipProofForm, value).record
  if (trust.commitment === undefined) return invalid('commitment_needed')
  return verifyDisclosure(proof, trust.commitment, signerKeys(trust, trust.commitment.record))
}

const consensusProof: RecordVerifier = async (value, trust) => {
  const proof = readConsensusProof(value)
  if (trust.validatorKeys.size === 0) return invalid('validator_keys_needed')
  // One holder under two names would vote twice.
  if (new Set(trust.validatorKeys.values()).size < trust.validatorKeys.size) return invalid('duplicate_validator_key')
  const { validatorKeys, now } = trust
  return verifyConsensusProof(proof, { assemblerKeys: signerKeys(trust, value), validatorKeys, now })
}

export const TRUST_JUDGES: Readonly<Record<TrustKindName, RecordVerifier>> = {
  'trust-evidence': signedBy(trustEvidenceForm, (record) => ({
    issuer: record.issuer_sovereign_id,
    from: record.issued_at,
  })),
  'capability-offer': signedBy(capabilityOfferForm, (record) => ({
    issuer: record.offerer_sovereign_id,
    from: record.created_at,
    until: record.expires_at,
  })),
  // expires_at is not signed here, so nothing is concluded from it.
  'capability-counter': signedBy(capabilityCounterForm, ({ agreed_terms }) => ({ until: agreed_terms.valid_until })),
  'agreement-record': agreementRecord,
  'boundary-decision': boundaryDecision,
  'boundary-policy': signedBy(BOUNDARY_POLICY_FORM, (record) => ({
    issuer: record.issuer_sovereign_id,
    from: record.valid_from,
    until: record.valid_until,
  })),
  'freshness-proof': signedBy(freshnessProofForm, (record) => ({
    issuer: record.issuer_sovereign_id,
    from: record.attested_at,
    until: record.proof_valid_until,
  })),
  'justification-proof': signedBy(justificationForm, (record) => ({
    issuer: record.issuer_sovereign_id,
    from: record.proof_issued_at,
  })),
  'execution-evidence': signedBy(executionEvidenceForm, (record) => ({ from: record.executed_at })),
  'retention-checkpoint': signedBy(retentionCheckpointForm, (record) => ({ from: record.created_at })),
  'store-anchor': signedBy(storeAnchorForm, (record) => ({ issuer: record.sovereign_id, from: record.anchored_at })),
  'capability-commitment': signedBy(commitmentForm, (record) => ({ from: record.committed_at })),
  'capability-membership-proof': membershipProof,
  'capability-nullifier': signedBy(nullifierForm, (record) => ({ from: record.issued_at, until: record.expires_at })),
  'validator-vote': signedBy(voteForm, (record) => ({ issuer: record.validator_sovereign_id, from: record.voted_at })),
  'consensus-proof': consensusProof,
  'data-license-policy': signedBy(licensePolicyForm, (record) => ({
    issuer: record.licensor_sovereign_id,
    from: record.valid_from,
    until: record.valid_until,
  })),
  'data-access-intent': signedBy(accessIntentForm, (record) => ({
    issuer: record.agent_sovereign_id,
    from: record.declared_at,
    until: record.expires_at,
  })),
}
