import {
  FormError,
  digestOf,
  isJsonObject,
  justificationForm,
  meaningOf,
  readReceived,
  signerKeys,
  verifyJustification,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type {
  CheckedPart,
  DecisionMeaning,
  JsonObject,
  OfflineTrust,
  RefusedRecord,
  Unproven,
} from '@chancery/protocol'
import { CONSENSUS_REASONS } from '../consensus/consensus.ts'
import { DISCLOSURE_REASONS } from '../disclosure/disclosure.ts'

/** Reasons of single kinds come first, so that the general texts replace them where both have one. */
export const OFFLINE_REASONS: Readonly<Record<string, string>> = {
  ...DISCLOSURE_REASONS,
  ...CONSENSUS_REASONS,
  unrecognized: 'it is not a record of this protocol, or it mixes the members of several.',
  malformed: 'it does not have the form of such a record.',
  keys_needed: 'no key was given. Add --key or --genesis.',
  party_keys_needed:
    'the keys of each party are needed, so that none signs for the other. Add them: --key <name>=<key>.',
  validator_keys_needed: 'the keys of its validators are needed. Add them: --key <name>=<key>.',
  duplicate_validator_key: 'one key was given for two validators, so one holder would count twice.',
  commitment_needed: 'it proves nothing without its commitment. Add it with --with.',
  missing_signature: 'it has no signature.',
  invalid_signature: 'no given key signed it, or it was changed since. Do not use it.',
  unknown_field: 'it contains a signed field that this release does not support. Update Chancery, or ask the signer.',
  non_canonical_form: 'it is signed without a member that must be there. Do not use it.',
  wrong_issuer: 'it speaks in the name of another network than the genesis block.',
  unknown_root_key: 'its root key is not the one you trust. Do not use it.',
  root_key_reused: 'its root key is also the key of its authority.',
  unknown_node_key: 'its node key is not one of the given ones.',
  bad_status: 'its status is not active.',
  not_yet_valid: 'its time has not begun.',
  expired: 'its time is over.',
  decision_expired: 'its time is over. Ask for a new decision.',
  missing_offerer_signature: 'it has no signature of the offerer.',
  invalid_offerer_signature: 'no given key signed it, or it was changed since. Do not use it.',
  missing_responder_signature: 'only one party signed it.',
  invalid_responder_signature: 'a second signature is not that of a given key.',
  same_party: 'it names one party on both sides.',
  overlapping_party_keys: 'one key was given for both parties. Give each party its own.',
  decision_id_mismatch: 'its justification is that of another decision. Do not use it.',
  trace_entry_count_mismatch: 'its justification leaves gates out or adds some. Do not use it.',
  trace_gate_mismatch: 'the justification and the decision differ on a gate. Do not use it.',
  short_circuit_inconsistent: 'its justification does not end as the decision does. Do not use it.',
  context_digest_mismatch: 'the decision was made on another context. Do not use it.',
  attestation_binding_mismatch: 'the decision is about another attestation. Do not use it.',
  recognition_mismatch: 'its context names another attestation or treaty. Do not use it.',
  treaty_invalid: 'the authority did not sign this treaty for the issuer, or it was not valid then. Do not use it.',
  attestation_invalid:
    'no key of the treaty signed the attestation, its roles are not allowed, or it was not valid then. Do not use it.',
  terms_mismatch: 'its expires_at differs from the signed terms. Do not use it.',
}

/** What the check of a file found. */
export type VerifiedFile =
  | {
      readonly ok: true
      readonly checked: readonly CheckedPart[]
      readonly unproven: readonly Unproven[]
      /** What a decision says. */
      readonly result?: DecisionMeaning
    }
  | RefusedRecord

/** The file of `ask --out`: the response of the authority with decision and justification. */
export interface EvaluatedFile {
  readonly decision: JsonObject
  readonly proof: JsonObject
  /** In a response on an attestation of a partner, and to a node. */
  readonly context?: JsonObject
}

const MEMBERS: ReadonlySet<string> = new Set(['decision', 'justification_proof', 'context', 'resource_head'])

/** Accepts the fields of a response only, because any other field makes the meaning unclear. */
export function findEvaluated(value: JsonObject): EvaluatedFile | undefined {
  const { decision, justification_proof: proof, context } = value
  if (!Object.keys(value).every((name) => MEMBERS.has(name))) return undefined
  if (!isJsonObject(decision) || !isJsonObject(proof)) return undefined
  return isJsonObject(context) ? { decision, proof, context } : { decision, proof }
}

/** All are valid, and justification and context are of this decision (protocol/trust-operations 4.9). */
export async function verifyEvaluated(
  { decision, proof, context }: EvaluatedFile,
  trust: OfflineTrust,
): Promise<VerifiedFile> {
  const verdict = await verifyRecordOfKind('boundary-decision', decision, trust)
  if (!verdict.ok) return verdict
  const { record, checked, unproven } = verdict
  // A reader takes the context of the file for the question that was decided.
  const bound = record.policy_binding?.context_digest
  if (context !== undefined && bound !== undefined && digestOf(context) !== bound)
    return { ok: false, reason: 'context_digest_mismatch' }
  try {
    const account = await verifyJustification(readReceived(justificationForm, proof), signerKeys(trust), record)
    if (!account.ok) return { ok: false, reason: account.reason, problem: 'justification_proof' }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: `justification_proof.${error.message}` }
  }
  return { ok: true, checked, unproven, result: meaningOf(record) }
}
