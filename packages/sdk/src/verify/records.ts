import {
  FormError,
  JsonError,
  commitmentForm,
  detectRecordKind,
  isJsonObject,
  readGenesisBlock,
  readJson,
  readReceived,
  verifyKeyHistory,
  verifyRecordOfKind,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  GenesisBlock,
  JsonObject,
  JsonValue,
  KeyHistory,
  OfflineTrust,
  RecordKindName,
  RecordsByKind,
  Signature,
} from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import { type Decision, type DecisionVerdict, type Invalid, type Verdict, toDecisionVerdict } from './verdict.ts'

/** What a verifier trusts, and the time. */
export interface RecordTrust {
  /** Trusted public keys of the signer. */
  readonly keys?: readonly string[]
  /**
   * For an agreement, instead of `keys`: the keys of each party. One list for both would let one party sign for the
   * other. With a genesis block, the keys of its authority are those of the party with that name.
   */
  readonly offererKeys?: readonly string[]
  readonly responderKeys?: readonly string[]
  /** Instead of keys: the network that must have issued the record. */
  readonly genesis?: GenesisBlock | string
  /** With it: former keys of its authority, as its root signed them. Each counts for records of its time. */
  readonly keyHistory?: KeyHistory
  /** For a consensus proof: validator id to public key. */
  readonly validatorKeys?: Readonly<Record<string, string>>
  /** For a membership proof: the commitment it is about. */
  readonly commitment?: JsonObject
  /** The clock of this machine when not given. */
  readonly at?: Time
}

/** The type of the record of each kind. */
export type RecordTypes = Omit<RecordsByKind, 'boundary-decision'> & { readonly 'boundary-decision': Decision }
export type RecordKind = RecordKindName

type ValidOf<Kind extends RecordKind> = Kind extends 'boundary-decision'
  ? Extract<DecisionVerdict, { readonly valid: true }>
  : Extract<Verdict<RecordTypes[Kind]>, { readonly valid: true }>

export type AnyVerdict = { [Kind in RecordKind]: { readonly kind: Kind } & ValidOf<Kind> }[RecordKind] | Invalid

/** Verifies any signed record of the protocol; its kind is found by its members, never guessed. */
export async function verifyRecord(record: JsonValue | object | string, trust: RecordTrust): Promise<AnyVerdict> {
  // Checked before the record, because a wrong time is an error of the caller.
  timeOf(trust.at)
  const value = readArrived(record)
  const kind = value === undefined ? undefined : detectRecordKind(value)
  if (kind === undefined || value === undefined)
    return { valid: false, kind: undefined, reason: 'unknown_kind', detail: 'it has the form of no signed record' }
  const verdict = await verifyKind(kind, value, trust)
  return (kind === 'boundary-decision' && verdict.valid
    ? { kind, ...toDecisionVerdict(verdict as Verdict<BoundaryDecision>) }
    : { kind, ...verdict }) as unknown as AnyVerdict
}

/** A record as object or as its JSON text; undefined when it is neither. */
function readArrived(record: JsonValue | object | string): JsonObject | undefined {
  try {
    const value = typeof record === 'string' ? readJson(record) : (record as JsonValue)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

async function verifyKind<Kind extends RecordKind>(
  kind: Kind,
  value: JsonObject,
  trust: RecordTrust,
): Promise<Verdict<RecordsByKind[Kind]>> {
  const { keyHistory } = trust
  const genesis = genesisOf(trust)
  const invalid = (reason: string, detail: string = reason): Invalid => ({ valid: false, kind, reason, detail })
  if (keyHistory !== undefined) {
    if (genesis === undefined) throw new UsageError('a key history needs the genesis block')
    const verdict = await verifyKeyHistory(keyHistory, genesis)
    if (!verdict.ok) return invalid('invalid_key_history', `keyHistory: ${verdict.reason}`)
  }
  const made = toTrustInputs(trust, genesis)
  // Records that came with the record are verified like the record.
  if (typeof made === 'string') return invalid('malformed', `commitment: ${made}`)
  const verdict = await verifyRecordOfKind(kind, value, made)
  if (!verdict.ok) return invalid(verdict.reason, verdict.reason === 'party_keys_needed' ? PARTY_KEYS : verdict.problem)
  const { record, checked, unproven } = verdict
  return { valid: true, record, signedBy: signerOf(record), checked, unproven }
}

/** Of several signatures the one of the issuer that the record names; of a record with one, that one. */
function signerOf(record: object): string | undefined {
  const { signature, signatures, issued_by, issuer } = record as {
    readonly signature?: Signature | null
    readonly signatures?: readonly Signature[]
    readonly issued_by?: unknown
    readonly issuer?: unknown
  }
  const all = signatures ?? (signature ? [signature] : [])
  return (all.find(({ key_id }) => key_id === issued_by || key_id === issuer) ?? all[0])?.key_id
}

// Keys for both would let one party sign alone.
const PARTY_KEYS = 'give offererKeys and responderKeys, not keys'

function genesisOf({ genesis }: RecordTrust): GenesisBlock | undefined {
  return typeof genesis === 'string' ? readGenesisBlock(readJson(genesis)) : genesis
}

/** Returns the trust inputs, or the problem of the commitment in them. */
function toTrustInputs(trust: RecordTrust, genesis: GenesisBlock | undefined): OfflineTrust | string {
  const { keys = [], keyHistory: history, offererKeys, responderKeys, validatorKeys = {}, commitment } = trust
  const made = {
    keys,
    now: timeOf(trust.at),
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

/** Verifies one kind of record without a server. Never throws for what arrived. */
export type VerifyRecord<Kind extends RecordKind = RecordKind> = (
  record: object | string,
  trust: RecordTrust,
) => Promise<Verdict<RecordsByKind[Kind]>>

export type VerifyDecision = (record: object | string, trust: RecordTrust) => Promise<DecisionVerdict>

function verifierOf<Kind extends RecordKind>(kind: Kind): VerifyRecord<Kind> {
  return async (record, trust) => {
    timeOf(trust.at)
    const value = readArrived(record)
    if (value === undefined) return { valid: false, kind, reason: 'malformed', detail: 'it is no JSON object' }
    return verifyKind(kind, value, trust)
  }
}

const verifyDecisionRecord = verifierOf('boundary-decision')

const verifyBlock = verifierOf('genesis-block')

/** Without a key it is only valid in itself: see `unproven`. */
export const verifyGenesis = (record: object | string, trust: RecordTrust = {}): Promise<Verdict<GenesisBlock>> =>
  verifyBlock(record, trust)
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
