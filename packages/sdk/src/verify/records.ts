import {
  FormError,
  commitmentForm,
  isJsonObject,
  readReceived,
  detectRecordKind,
  verifyKeyHistory,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type {
  GenesisBlock,
  Instant,
  JsonObject,
  JsonValue,
  KeyHistory,
  OfflineTrust,
  OfflineVerdict,
  RecordKindName,
} from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { signingTimeOf } from '../trust/signing-time.ts'

/** Trust inputs of a verifier, and the time. */
export interface TrustInputs {
  /** Trusted public keys of the signer. */
  readonly keys?: readonly string[]
  /**
   * For an agreement, instead of `keys`: the keys of each party. One list for both would let one party sign for the
   * other. With a genesis block, the keys of its authority are those of the party with that name.
   */
  readonly offererKeys?: readonly string[]
  readonly responderKeys?: readonly string[]
  /** Instead of keys: the network that must have issued the record. */
  readonly genesis?: GenesisBlock
  /** With it: former keys of its authority, as its root signed them. Each counts for records of its time. */
  readonly keyHistory?: KeyHistory
  /** For a consensus proof: validator id to public key. */
  readonly validatorKeys?: Readonly<Record<string, string>>
  /** For a membership proof: the commitment it is about. */
  readonly commitment?: JsonObject
  /** Microseconds since 1970; the clock of this machine when not given. */
  readonly now?: Instant
}

/**
 * `reason` is a code for programs; `problem` names member and rule of a malformed record, or the missing input.
 * `unproven` lists what a valid record does not prove: see {@link Unproven}.
 */
export type RecordVerdict = OfflineVerdict

export type RecordKindVerdict = RecordVerdict & { readonly kind: RecordKindName | undefined }

/** Verifies any signed record of the protocol; its kind is detected by its members, never guessed. */
export async function verifyRecord(value: JsonValue, trust: TrustInputs): Promise<RecordKindVerdict> {
  // Checked before the record, because a wrong time is an error of the caller.
  signingTimeOf(trust.now)
  const kind = isJsonObject(value) ? detectRecordKind(value) : undefined
  if (kind === undefined || !isJsonObject(value)) return { kind: undefined, ok: false, reason: 'unknown_kind' }
  return { kind, ...(await verifyKind(kind, value, trust)) }
}

async function verifyKind(kind: RecordKindName, value: JsonObject, trust: TrustInputs): Promise<RecordVerdict> {
  const { genesis, keyHistory } = trust
  if (keyHistory !== undefined) {
    if (genesis === undefined) throw new RequestError('a key history needs the genesis block')
    const verdict = await verifyKeyHistory(keyHistory, genesis)
    if (!verdict.ok) return { ok: false, reason: 'invalid_key_history', problem: `keyHistory: ${verdict.reason}` }
  }
  const made = toTrustInputs(trust)
  // Records that came with the record are verified like the record.
  if (typeof made === 'string') return { ok: false, reason: 'malformed', problem: `commitment: ${made}` }
  const verdict = await verifyRecordOfKind(kind, value, made)
  return verdict.ok || verdict.reason !== 'party_keys_needed' ? verdict : { ...verdict, problem: PARTY_KEYS }
}

// Keys for both would let one party sign alone.
const PARTY_KEYS = 'give offererKeys and responderKeys, not keys'

/** Returns the trust inputs, or the problem of the commitment in them. */
function toTrustInputs(trust: TrustInputs): OfflineTrust | string {
  const { keys = [], genesis, keyHistory: history, offererKeys, responderKeys, validatorKeys = {}, commitment } = trust
  const made = {
    keys,
    now: signingTimeOf(trust.now),
    offererKeys,
    responderKeys,
    validatorKeys: new Map(Object.entries(validatorKeys)),
    genesis,
    history,
  }
  if (commitment === undefined) return made
  try {
    return { ...made, commitment: readReceived(commitmentForm, commitment) }
  } catch (error) {
    if (error instanceof FormError) return error.message
    throw error
  }
}

/** Verifies one kind of record offline. Later revocations are not included. */
export type VerifyRecord = (record: object, trust: TrustInputs) => Promise<RecordVerdict>

function verifierOf(kind: RecordKindName): VerifyRecord {
  return async (record, trust) => {
    if (!isJsonObject(record as JsonValue)) throw new RequestError('a record is a JSON object')
    return verifyKind(kind, record as JsonObject, trust)
  }
}

export const verifyGenesis: VerifyRecord = verifierOf('genesis-block')
export const verifyCertificate: VerifyRecord = verifierOf('join-certificate')
export const verifyCrl: VerifyRecord = verifierOf('crl')
export const verifyPolicyManifest: VerifyRecord = verifierOf('policy-manifest')
export const verifyAgent: VerifyRecord = verifierOf('agent-descriptor')
export const verifyAttestation: VerifyRecord = verifierOf('membership-attestation')
export const verifyTreaty: VerifyRecord = verifierOf('recognition-treaty')
export const verifyRecognitionPolicy: VerifyRecord = verifierOf('recognition-policy')
export const verifyRevocationFeed: VerifyRecord = verifierOf('sovereign-revocation-feed')
export const verifyTrustEvidence: VerifyRecord = verifierOf('trust-evidence')
export const verifyOffer: VerifyRecord = verifierOf('capability-offer')
export const verifyCounter: VerifyRecord = verifierOf('capability-counter')
export const verifyAgreement: VerifyRecord = verifierOf('agreement-record')
export const verifyDecision: VerifyRecord = verifierOf('boundary-decision')
export const verifyBoundaryPolicy: VerifyRecord = verifierOf('boundary-policy')
export const verifyFreshness: VerifyRecord = verifierOf('freshness-proof')
export const verifyJustification: VerifyRecord = verifierOf('justification-proof')
export const verifyExecution: VerifyRecord = verifierOf('execution-evidence')
export const verifyRetentionCheckpoint: VerifyRecord = verifierOf('retention-checkpoint')
export const verifyAnchor: VerifyRecord = verifierOf('store-anchor')
export const verifyCommitment: VerifyRecord = verifierOf('capability-commitment')
export const verifyMembershipProof: VerifyRecord = verifierOf('capability-membership-proof')
export const verifyNullifier: VerifyRecord = verifierOf('capability-nullifier')
export const verifyVote: VerifyRecord = verifierOf('validator-vote')
export const verifyConsensus: VerifyRecord = verifierOf('consensus-proof')
export const verifyDataLicense: VerifyRecord = verifierOf('data-license-policy')
export const verifyDataIntent: VerifyRecord = verifierOf('data-access-intent')
