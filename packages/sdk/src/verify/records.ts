import {
  FormError,
  commitmentForm,
  isJsonObject,
  readReceived,
  recogniseRecord,
  verifyKeyHistory,
  verifyRecord,
} from '@chancery/protocol'
import type {
  GenesisBlock,
  Instant,
  JsonObject,
  JsonValue,
  KeyHistory,
  OfflineGround,
  OfflineVerdict,
  RecordKindName,
} from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { momentOf } from '../moment.ts'

/** What a verifier brings: whom it trusts, and when it is. */
export interface Ground {
  /** Public keys the signer is known by. */
  readonly keys?: readonly string[]
  /**
   * For an agreement, instead of `keys`: what each party is known by. One list for both would let one party sign for the
   * other. With a genesis block, its authority stands for the party of that name.
   */
  readonly offererKeys?: readonly string[]
  readonly responderKeys?: readonly string[]
  /** Instead of keys: the network the record must be of. */
  readonly genesis?: GenesisBlock
  /** With it: the keys its authority had before, as its root signed them. Each counts for records of its time. */
  readonly keyHistory?: KeyHistory
  /** For a consensus proof: validator id to public key. */
  readonly validatorKeys?: Readonly<Record<string, string>>
  /** For a membership proof: the commitment it is about. */
  readonly commitment?: JsonObject
  /** Microseconds since 1970; the clock of this machine when not given. */
  readonly now?: Instant
}

/**
 * `reason` is a word for programs; `problem` names place and rule of a record that has not its form, or what to give.
 * `unproven` says what a record that holds leaves open: see {@link Unproven}.
 */
export type RecordVerdict = OfflineVerdict

export type PaperVerdict = RecordVerdict & { readonly kind: RecordKindName | undefined }

/** Whether any signed record of the protocol holds; its kind is told by its members, never guessed. */
export async function verifyPaper(value: JsonValue, ground: Ground): Promise<PaperVerdict> {
  // Before anything is said of the record: a wrong time is the caller's, and would be met again with the next one.
  momentOf(ground.now)
  const kind = isJsonObject(value) ? recogniseRecord(value) : undefined
  if (kind === undefined || !isJsonObject(value)) return { kind: undefined, ok: false, reason: 'unknown_kind' }
  return { kind, ...(await verifyKind(kind, value, ground)) }
}

async function verifyKind(kind: RecordKindName, value: JsonObject, ground: Ground): Promise<RecordVerdict> {
  const { genesis, keyHistory } = ground
  if (keyHistory !== undefined) {
    if (genesis === undefined) throw new RequestError('a key history needs the genesis block')
    const verdict = await verifyKeyHistory(keyHistory, genesis)
    if (!verdict.ok) return { ok: false, reason: 'invalid_key_history', problem: `keyHistory: ${verdict.reason}` }
  }
  const made = toGround(ground)
  // What a stranger sent along with the record is judged as the record is.
  if (typeof made === 'string') return { ok: false, reason: 'malformed', problem: `commitment: ${made}` }
  const verdict = await verifyRecord(kind, value, made)
  return verdict.ok || verdict.reason !== 'party_keys_needed' ? verdict : { ...verdict, problem: PARTY_KEYS }
}

// Keys for both would let one party sign alone.
const PARTY_KEYS = 'give offererKeys and responderKeys, not keys'

/** The ground, or what is wrong with the commitment in it. */
function toGround(ground: Ground): OfflineGround | string {
  const { keys = [], genesis, keyHistory: history, offererKeys, responderKeys, validatorKeys = {}, commitment } = ground
  const made = {
    keys,
    now: momentOf(ground.now),
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

/** Verifies one kind of record offline: nobody is asked, so what was revoked since is not known. */
export type VerifyRecord = (record: object, ground: Ground) => Promise<RecordVerdict>

function verifierOf(kind: RecordKindName): VerifyRecord {
  return async (record, ground) => {
    if (!isJsonObject(record as JsonValue)) throw new RequestError('a record is a JSON object')
    return verifyKind(kind, record as JsonObject, ground)
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
