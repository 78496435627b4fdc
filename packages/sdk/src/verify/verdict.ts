import {
  type BoundaryDecision,
  type CheckedPart,
  type DecisionMeaning,
  type RecordKindName,
  type Unproven,
  meaningOf,
} from '@chancery/protocol'
import { VerificationError } from '../errors.ts'

export type AllowedDecision = BoundaryDecision & { readonly authorized: true; readonly denial_reason: null }
export type DeniedDecision = BoundaryDecision & { readonly authorized: false; readonly denial_reason: string }
/** `authorized` and `denial_reason` are names of the signed record. This library says allowed and denied. */
export type Decision = AllowedDecision | DeniedDecision

/** Why a record is not valid. Further codes are those of one kind, or of a newer release. */
export type InvalidReason =
  | 'malformed'
  | 'unknown_kind'
  | 'keys_needed'
  | 'party_keys_needed'
  | 'unknown_issuer'
  | 'invalid_signature'
  | 'not_yet_valid'
  | 'expired'
  | 'invalid_key_history'
  | (string & {})

/** Why a decision denies. */
export type DenialReason =
  | (DecisionMeaning extends infer Word ? (Word extends `unauthorized_${infer Code}` ? Code : never) : never)
  | (string & {})

/** Facts of a valid record besides itself. */
interface ValidFacts {
  /** The key id of the signature that counts; undefined for a record without one. */
  readonly signedBy: string | undefined
  readonly checked: readonly CheckedPart[]
  /** What the verdict does not prove: see {@link Unproven}. */
  readonly unproven: readonly Unproven[]
}

export interface Invalid {
  readonly valid: false
  readonly kind: RecordKindName | undefined
  readonly reason: InvalidReason
  readonly detail: string
}

/** Whether one record is genuine and in its time. What it says is in `record`. */
export type Verdict<Rec> = ({ readonly valid: true; readonly record: Rec } & ValidFacts) | Invalid

/** `allowed` is on every member: `if (verdict.allowed)` needs no second check. */
export type DecisionVerdict =
  | ({ readonly valid: true; readonly allowed: true; readonly record: AllowedDecision } & ValidFacts)
  | ({
      readonly valid: true
      readonly allowed: false
      readonly record: DeniedDecision
      readonly reason: DenialReason
    } & ValidFacts)
  | (Invalid & { readonly allowed: false })

/** Says of a decision whether it allows. */
export function toDecisionVerdict(verdict: Verdict<BoundaryDecision>): DecisionVerdict {
  if (!verdict.valid) return { ...verdict, allowed: false }
  const { record } = verdict
  // The form has a reason exactly when the decision denies.
  if (record.authorized) return { ...verdict, allowed: true, record: record as AllowedDecision }
  return { ...verdict, allowed: false, record: record as DeniedDecision, reason: denialReason(record) }
}

/** Why a decision denies, as a code. */
export function denialReason(decision: BoundaryDecision): DenialReason {
  return meaningOf(decision).replace('unauthorized_', '')
}

/** Returns the record of a valid verdict; throws {@link VerificationError} otherwise. */
export function requireValid<Rec>(verdict: Verdict<Rec>): Rec {
  if (verdict.valid) return verdict.record
  throw new VerificationError(verdict.reason, verdict.kind ?? 'record', verdict.detail)
}
