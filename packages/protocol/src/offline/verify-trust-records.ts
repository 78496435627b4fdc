import { verifyTwoParties } from '../agreements/verify-agreement.ts'
import { agreementRecordForm, capabilityCounterForm, capabilityOfferForm } from '../artifacts/capability-offer.ts'
import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { BOUNDARY_POLICY_FORM } from '../artifacts/boundary-policy.ts'
import { type CapabilityCommitment, commitmentForm } from '../artifacts/capability-commitment.ts'
import { membershipProofForm, nullifierForm } from '../artifacts/capability-nullifier.ts'
import { accessIntentForm, licensePolicyForm } from '../artifacts/data-access-intent.ts'
import { executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { freshnessProofForm, storeAnchorForm } from '../artifacts/freshness-proof.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { trustEvidenceForm } from '../artifacts/trust-evidence.ts'
import { voteForm } from '../artifacts/consensus-proof.ts'
import { invalid } from '../artifacts/verdict.ts'
import { verifyBoundaryDecision } from '../boundary/verify-decision.ts'
import { readConsensusProof, verifyConsensusProof } from '../consensus/verify-consensus.ts'
import { verifyDisclosure } from '../disclosure/verify-disclosure.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { readReceived, verifyReceived } from '../signing/received.ts'
import type { RecordsByKind, Unproven } from './offline-verdict.ts'
import { type RecordVerifier, holdSigned, isOfNetwork, partyKeys, signerKeys } from './trust-inputs.ts'
import type { TrustKindName } from './record-kind.ts'

type Verifies<Kind extends TrustKindName> = RecordVerifier<RecordsByKind[Kind]>

/** A record that one party signed: the form check, then whose name it bears, then its time. */
function signedBy<Value>(
  form: RecordForm<Value>,
  factsOf: (record: Value) => Parameters<typeof holdSigned>[2],
): RecordVerifier<Value> {
  return async (value, trust) => {
    const received = readReceived(form, value)
    const signed = await verifyReceived(received, signerKeys(trust, value))
    return signed.ok ? holdSigned(received.record, trust, factsOf(received.record)) : signed
  }
}

/** Both parties sign the same bytes, so each needs separate keys; the signed time counts. */
const agreementRecord: Verifies<'agreement-record'> = async (value, trust) => {
  const received = readReceived(agreementRecordForm, value)
  const { offerer_sovereign_id: offerer, responder_sovereign_id: responder, agreed_terms } = received.record
  if (!isOfNetwork(offerer, trust) && !isOfNetwork(responder, trust)) return invalid('wrong_issuer')
  const offererKeys = partyKeys(offerer, trust.offererKeys, trust)
  const responderKeys = partyKeys(responder, trust.responderKeys, trust)
  if (offererKeys.length === 0 || responderKeys.length === 0) return invalid('party_keys_needed')
  const verdict = await verifyTwoParties(received, { offererKeys, responderKeys })
  if (!verdict.ok) return verdict
  const { valid_from: from, valid_until: until } = agreed_terms
  const issuer = trust.genesis?.network_name ?? offerer
  return holdSigned(received.record, trust, { issuer, from, until })
}

/** A genuine denial holds: what it says is another question than whether it was said. */
const boundaryDecision: Verifies<'boundary-decision'> = async (value, trust) => {
  const received = readReceived(boundaryDecisionForm, value)
  const verdict = await verifyBoundaryDecision(received, { keys: signerKeys(trust, value), now: trust.now })
  if (!verdict.accepted) return invalid(verdict.reason)
  const { operator_sovereign_id: issuer, decision_valid_until: until } = received.record
  return holdSigned(received.record, trust, { issuer, until })
}

const membershipProof: Verifies<'capability-membership-proof'> = async (value, trust) => {
  const proof = readReceived(membershipProofForm, value).record
  if (trust.commitment === undefined) return invalid('commitment_needed')
  const verdict = await verifyDisclosure(proof, trust.commitment, signerKeys(trust, trust.commitment.record))
  if (!verdict.ok) return verdict
  const unproven = hiddenNames(trust.commitment.record)
  return { ok: true, record: proof, checked: ['signature', 'commitment'], unproven }
}

const signedCommitment = signedBy(commitmentForm, (record) => ({ from: record.committed_at }))

const commitment: Verifies<'capability-commitment'> = async (value, trust) => {
  const held = await signedCommitment(value, trust)
  return held.ok ? { ...held, unproven: [...(held.unproven ?? []), ...hiddenNames(held.record)] } : held
}

function hiddenNames({ salted }: CapabilityCommitment): readonly Unproven[] {
  return salted === true ? [] : ['hidden_names']
}

const consensusProof: Verifies<'consensus-proof'> = async (value, trust) => {
  const proof = readConsensusProof(value)
  if (trust.validatorKeys.size === 0) return invalid('validator_keys_needed')
  // One holder under two names would vote twice.
  if (new Set(trust.validatorKeys.values()).size < trust.validatorKeys.size) return invalid('duplicate_validator_key')
  const { validatorKeys, now } = trust
  const verdict = await verifyConsensusProof(proof, { assemblerKeys: signerKeys(trust, value), validatorKeys, now })
  return verdict.ok ? { ok: true, record: proof.record, checked: ['signature', 'time', 'validators'] } : verdict
}

export const TRUST_JUDGES: { readonly [Kind in TrustKindName]: Verifies<Kind> } = {
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
  'capability-commitment': commitment,
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
