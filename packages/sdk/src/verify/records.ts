import {
  FormError,
  commitmentForm,
  isJsonObject,
  readReceived,
  detectRecordKind,
  meaningOf,
  verifyKeyHistory,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type {
  DecisionMeaning,
  GenesisBlock,
  Instant,
  JsonObject,
  JsonValue,
  KeyHistory,
  OfflineTrust,
  OfflineVerdict,
  ProvedRecord,
  RecordKindName,
  RefusedRecord,
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
 * Verdict on one record. `ok` says that the record is genuine and valid at that time, never what it says: read
 * `record`. `checked` and `unproven` name what the verdict covers: see {@link CheckedPart} and {@link Unproven}.
 * `reason` is a code for programs.
 */
export type RecordVerdict<Kind extends RecordKindName = RecordKindName> = OfflineVerdict<Kind>

/** Verdict on a decision: `ok` only for a genuine decision that allows. A genuine denial has its record, too. */
export type DecisionVerdict =
  | (ProvedRecord<'boundary-decision'> & { readonly outcome: 'allowed' })
  | (Omit<ProvedRecord<'boundary-decision'>, 'ok'> & {
      readonly ok: false
      readonly outcome: 'denied'
      readonly reason: DenialReason
    })
  | (RefusedRecord & { readonly outcome: 'invalid' })

export type DenialReason = Exclude<DecisionMeaning, 'authorized'>

/** `ok` and `outcome` of a verdict on a decision, and `kind` also where the record was refused. */
export type RecordKindVerdict =
  | { [Kind in OtherKind]: ProvedRecord<Kind> }[OtherKind]
  | Exclude<DecisionVerdict, RefusedRecord & { readonly outcome: 'invalid' }>
  | (RefusedRecord & { readonly kind: RecordKindName | undefined })

type OtherKind = Exclude<RecordKindName, 'boundary-decision'>

/** Verifies any signed record of the protocol; its kind is detected by its members, never guessed. */
export async function verifyRecord(value: JsonValue, trust: TrustInputs): Promise<RecordKindVerdict> {
  // Checked before the record, because a wrong time is an error of the caller.
  signingTimeOf(trust.now)
  const kind = isJsonObject(value) ? detectRecordKind(value) : undefined
  if (kind === undefined || !isJsonObject(value)) return { kind: undefined, ok: false, reason: 'unknown_kind' }
  const verdict = await verifyKind(kind, value, trust)
  if (!verdict.ok) return { kind, ...verdict }
  return (isDecision(verdict) ? toDecisionVerdict(verdict) : verdict) as RecordKindVerdict
}

function isDecision(verdict: ProvedRecord): verdict is ProvedRecord<'boundary-decision'> {
  return verdict.kind === 'boundary-decision'
}

/** Only a decision that allows is `ok`, so that a denial is not taken for one by a caller that reads nothing else. */
export function toDecisionVerdict(verdict: RecordVerdict<'boundary-decision'>): DecisionVerdict {
  if (!verdict.ok) return { ...verdict, outcome: 'invalid' }
  const reason = meaningOf(verdict.record)
  return reason === 'authorized'
    ? { ...verdict, outcome: 'allowed' }
    : { ...verdict, ok: false, outcome: 'denied', reason }
}

async function verifyKind<Kind extends RecordKindName>(
  kind: Kind,
  value: JsonObject,
  trust: TrustInputs,
): Promise<RecordVerdict<Kind>> {
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

/** Verifies one kind of record offline. */
export type VerifyRecord<Kind extends RecordKindName = RecordKindName> = (
  record: object,
  trust: TrustInputs,
) => Promise<RecordVerdict<Kind>>

export type VerifyDecision = (record: object, trust: TrustInputs) => Promise<DecisionVerdict>

function verifierOf<Kind extends RecordKindName>(kind: Kind): VerifyRecord<Kind> {
  return async (record, trust) => {
    if (!isJsonObject(record as JsonValue)) throw new RequestError('a record is a JSON object')
    return verifyKind(kind, record as JsonObject, trust)
  }
}

const verifyDecisionRecord = verifierOf('boundary-decision')

export const verifyGenesis: VerifyRecord<'genesis-block'> = verifierOf('genesis-block')
export const verifyCertificate: VerifyRecord<'join-certificate'> = verifierOf('join-certificate')
export const verifyCrl: VerifyRecord<'crl'> = verifierOf('crl')
export const verifyPolicyManifest: VerifyRecord<'policy-manifest'> = verifierOf('policy-manifest')
export const verifyAgent: VerifyRecord<'agent-descriptor'> = verifierOf('agent-descriptor')
export const verifyAttestation: VerifyRecord<'membership-attestation'> = verifierOf('membership-attestation')
export const verifyTreaty: VerifyRecord<'recognition-treaty'> = verifierOf('recognition-treaty')
export const verifyRecognitionPolicy: VerifyRecord<'recognition-policy'> = verifierOf('recognition-policy')
export const verifyRevocationFeed: VerifyRecord<'sovereign-revocation-feed'> = verifierOf('sovereign-revocation-feed')
export const verifyTrustEvidence: VerifyRecord<'trust-evidence'> = verifierOf('trust-evidence')
export const verifyOffer: VerifyRecord<'capability-offer'> = verifierOf('capability-offer')
export const verifyCounter: VerifyRecord<'capability-counter'> = verifierOf('capability-counter')
export const verifyAgreement: VerifyRecord<'agreement-record'> = verifierOf('agreement-record')
export const verifyDecision: VerifyDecision = async (record, trust) =>
  toDecisionVerdict(await verifyDecisionRecord(record, trust))
export const verifyBoundaryPolicy: VerifyRecord<'boundary-policy'> = verifierOf('boundary-policy')
export const verifyFreshness: VerifyRecord<'freshness-proof'> = verifierOf('freshness-proof')
export const verifyJustification: VerifyRecord<'justification-proof'> = verifierOf('justification-proof')
export const verifyExecution: VerifyRecord<'execution-evidence'> = verifierOf('execution-evidence')
export const verifyRetentionCheckpoint: VerifyRecord<'retention-checkpoint'> = verifierOf('retention-checkpoint')
export const verifyAnchor: VerifyRecord<'store-anchor'> = verifierOf('store-anchor')
export const verifyCommitment: VerifyRecord<'capability-commitment'> = verifierOf('capability-commitment')
export const verifyMembershipProof: VerifyRecord<'capability-membership-proof'> =
  verifierOf('capability-membership-proof')
export const verifyNullifier: VerifyRecord<'capability-nullifier'> = verifierOf('capability-nullifier')
export const verifyVote: VerifyRecord<'validator-vote'> = verifierOf('validator-vote')
export const verifyConsensus: VerifyRecord<'consensus-proof'> = verifierOf('consensus-proof')
export const verifyDataLicense: VerifyRecord<'data-license-policy'> = verifierOf('data-license-policy')
export const verifyDataIntent: VerifyRecord<'data-access-intent'> = verifierOf('data-access-intent')
