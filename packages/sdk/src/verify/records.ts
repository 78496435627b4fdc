import { commitmentForm, isJsonObject, readReceived, recogniseRecord, verifyRecord } from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, JsonValue, OfflineGround, RecordKindName } from '@chancery/protocol'
import { RequestError } from '../errors.ts'

/** What a verifier brings: whom it trusts, and when it is. */
export interface Ground {
  /** Public keys the signer is known by. */
  readonly keys?: readonly string[]
  /** Instead of keys: the network the record must be of. */
  readonly genesis?: GenesisBlock
  /** For a consensus proof: validator id to public key. */
  readonly validatorKeys?: Readonly<Record<string, string>>
  /** For a membership proof: the commitment it is about. */
  readonly commitment?: JsonObject
  readonly now: Instant
}

/** `reason` is a word for programs; `problem` names place and rule of a record that has not its form. */
export type RecordVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string; readonly problem?: string }

export type PaperVerdict = RecordVerdict & { readonly kind: RecordKindName | undefined }

/** Whether any signed record of the protocol holds; its kind is told by its members, never guessed. */
export async function verifyPaper(value: JsonValue, ground: Ground): Promise<PaperVerdict> {
  const kind = isJsonObject(value) ? recogniseRecord(value) : undefined
  if (kind === undefined || !isJsonObject(value)) return { kind: undefined, ok: false, reason: 'unknown_kind' }
  return { kind, ...(await verifyKind(kind, value, ground)) }
}

async function verifyKind(kind: RecordKindName, value: JsonObject, ground: Ground): Promise<RecordVerdict> {
  return verifyRecord(kind, value, toGround(ground))
}

function toGround({ keys = [], genesis, validatorKeys = {}, commitment, now }: Ground): OfflineGround {
  return {
    keys,
    now,
    validatorKeys: new Map(Object.entries(validatorKeys)),
    ...(genesis === undefined ? {} : { genesis }),
    ...(commitment === undefined ? {} : { commitment: readReceived(commitmentForm, commitment) }),
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
