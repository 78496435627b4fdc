import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { readAttestation } from '../artifacts/attestation.ts'
import { type BoundaryDecision, boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { type JustificationReason, justificationForm, verifyJustification } from '../artifacts/justification-proof.ts'
import { type RecognitionTreaty, readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { digestOf } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import { FormError } from '../reading/schema.ts'
import { instantOf } from '../reading/text.ts'
import { verifyList } from '../signing/verify-any.ts'
import { readReceived } from '../signing/received.ts'
import { type DecisionFault, type DecisionMeaning, verifyBoundaryDecision } from './verify-decision.ts'

/** A decision on a member of a partner, with everything it rests on, as it came. */
export interface ForeignDecision {
  readonly decision: JsonObject
  readonly justification: JsonObject
  readonly context: JsonObject
  /** The record that the partner signed. */
  readonly attestation: JsonObject
  /** The treaty of the authority that decided, which recognises the partner. */
  readonly treaty: JsonObject
}

export type ForeignDecisionFault =
  | DecisionFault
  | JustificationReason
  | 'malformed'
  | 'context_digest_mismatch'
  | 'recognition_mismatch'
  | 'treaty_invalid'
  | 'attestation_invalid'

/** `problem` names member and rule of a malformed decision or justification. */
export type ForeignDecisionVerdict =
  | { readonly accepted: true; readonly reason: DecisionMeaning }
  | { readonly accepted: false; readonly reason: ForeignDecisionFault; readonly problem?: string }

/**
 * Follows a decision on a member of a partner without a call (protocol/trust-operations 4.13). In this order:
 * 1. The authority signed decision and justification, and they belong together.
 * 2. The decision was made on this context, 3. about this attestation.
 * 4. The context names this attestation and this treaty.
 * 5. The authority signed the treaty, for the issuer, and it was valid then.
 * 6. The issuer signed the attestation by a key of the treaty, with allowed roles, and it was valid then.
 */
export async function verifyForeignDecision(
  given: ForeignDecision,
  against: { readonly keys: readonly string[]; readonly now: Instant },
): Promise<ForeignDecisionVerdict> {
  try {
    const decision = readReceived(boundaryDecisionForm, given.decision)
    const verdict = await verifyBoundaryDecision(decision, against)
    if (!verdict.accepted) return verdict
    const proof = readReceived(justificationForm, given.justification)
    const justified = await verifyJustification(proof, against.keys, decision.record)
    if (!justified.ok) return { accepted: false, reason: justified.reason }
    const fault = await checkForeignBasis(given, decision.record, against.keys)
    return fault === undefined ? verdict : { accepted: false, reason: fault }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { accepted: false, reason: 'malformed', problem: error.message }
  }
}

/** Checks rows 2 to 6 of protocol/trust-operations 4.13. `keys` are those that may have signed the treaty. */
export async function checkForeignBasis(
  given: Pick<ForeignDecision, 'context' | 'attestation' | 'treaty'>,
  decision: BoundaryDecision,
  keys: readonly string[],
): Promise<ForeignDecisionFault | undefined> {
  return checkBound(given, decision) ?? (await checkBasis(given, decision, keys))
}

/** Rows 2 to 4: digests are taken of the records as they came, so a changed one is never read. */
function checkBound(
  { context, attestation, treaty }: Pick<ForeignDecision, 'context' | 'attestation' | 'treaty'>,
  decision: BoundaryDecision,
): ForeignDecisionFault | undefined {
  if (digestOf(context) !== decision.policy_binding?.context_digest) return 'context_digest_mismatch'
  const { attestation_id, subject_id, issuer_sovereign_id } = attestation
  const attestation_digest = unsignedDigest(attestation)
  const attested = { attestation_id, subject_id, issuer_sovereign_id, attestation_digest }
  if (!hasMembers(decision.attestation_binding, attested)) return 'attestation_binding_mismatch'
  const attributes = context['attributes']
  const recognition = isJsonObject(attributes) ? attributes['chancery_recognition'] : undefined
  const { treaty_id } = treaty
  const recognized = { attestation_digest, issuer_sovereign_id, treaty_id, treaty_digest: unsignedDigest(treaty) }
  return hasMembers(recognition, recognized) ? undefined : 'recognition_mismatch'
}

/** Rows 5 and 6. */
async function checkBasis(
  given: Pick<ForeignDecision, 'attestation' | 'treaty'>,
  { decision_made_at }: BoundaryDecision,
  keys: readonly string[],
): Promise<ForeignDecisionFault | undefined> {
  const madeAt = instantOf(decision_made_at)
  const treaty = tryRead(readRecognitionTreaty, given.treaty)
  const isInForce =
    treaty !== undefined &&
    treaty.subject_sovereign_id === given.attestation['issuer_sovereign_id'] &&
    hasBegun(treaty, madeAt) &&
    madeAt < instantOf(treaty.expires_at) &&
    (await verifyList(treaty, keys))
  if (!isInForce) return 'treaty_invalid'
  return (await isAccepted(given.attestation, treaty, madeAt)) ? undefined : 'attestation_invalid'
}

async function isAccepted(value: JsonObject, treaty: RecognitionTreaty, madeAt: Instant): Promise<boolean> {
  const attestation = tryRead(readAttestation, value)
  return (
    attestation !== undefined &&
    attestation.roles.length > 0 &&
    attestation.roles.every((role) => treaty.scope.allowed_roles.includes(role)) &&
    hasBegun(attestation, madeAt) &&
    madeAt <= instantOf(attestation.expires_at) &&
    (await verifyList(attestation, treaty.subject_public_keys))
  )
}

function hasBegun({ valid_from }: { readonly valid_from: string }, madeAt: Instant): boolean {
  return instantOf(valid_from) - CLOCK_TOLERANCE <= madeAt
}

function hasMembers(value: object | JsonValue | undefined, expected: object): boolean {
  const found = value as { readonly [name: string]: unknown } | null | undefined
  return Object.entries(expected).every(([name, one]) => typeof one === 'string' && found?.[name] === one)
}

function unsignedDigest({ signatures: _signatures, ...body }: JsonObject): string {
  return digestOf(body)
}

function tryRead<Value>(read: (value: JsonValue) => Value, value: JsonValue): Value | undefined {
  return readOrUndefined(() => read(value))
}
