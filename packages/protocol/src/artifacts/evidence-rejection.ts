import type { JsonValue } from '../canonical/json-value.ts'
import { FormError } from '../reading/form-error.ts'
import { boolean, closed, integer, nullable, readRecord, required } from '../reading/shape.ts'
import type { Read, ReadBy } from '../reading/read.ts'
import { digest, identifier, matching, timestamp } from '../reading/text.ts'
import { described } from '../reading/schema.ts'
import { type EntrySubject, NO_SUBJECT } from './evidence-store-entry.ts'

/** Names as they were claimed are cut to so many characters. */
export const CLAIMED_CHARACTERS = 256

const claimed: Read<string> = described(
  (value, field) => {
    if (typeof value !== 'string' || value.length > CLAIMED_CHARACTERS)
      throw new FormError(field, `must be a text of at most ${CLAIMED_CHARACTERS} characters`)
    return value
  },
  () => ({ type: 'string', maxLength: CLAIMED_CHARACTERS }),
)
const name = required(nullable(claimed))

export const evidenceRejectionShape = closed({
  rejection_id: required(identifier),
  rejected_at: required(timestamp),
  code: required(matching(/^[a-z0-9_]{1,64}$/, 'an error code')),
  /** 1; in a summary the number of submissions. */
  count: required(integer(1, Number.MAX_SAFE_INTEGER)),
  /** H(C(evidence)); in a summary H of the digests in hexadecimal, joined in order of arrival. */
  submitted_digest: required(digest),
  evidence_id: name,
  decision_id: name,
  resource_id: name,
  executor_sovereign_id: name,
  /** The submission was signed by a key that may sign for its executor. */
  verified_executor: required(boolean),
})

/** What a refused submission leaves in the store (protocol/trust-operations 6.14): never the submitted record. */
export type EvidenceRejection = ReadBy<typeof evidenceRejectionShape>

const NAMES = ['evidence_id', 'decision_id', 'resource_id', 'executor_sovereign_id'] as const

export function readEvidenceRejection(value: JsonValue): EvidenceRejection {
  const rejection = readRecord(evidenceRejectionShape, value)
  const isSummary = rejection.count > 1
  if (isSummary && (rejection.verified_executor || NAMES.some((each) => rejection[each] !== null)))
    throw new FormError('count', 'a summary has no names')
  return rejection
}

/** Of the decision that a submission rested on, when it is stored. */
export type RejectedDecision = Pick<EntrySubject, 'context_id' | 'vendor_id' | 'attestation_id' | 'capability'>

/**
 * The envelope of a rejection. It contains no names from an unauthenticated caller, so that no search by vendor
 * or resource finds them.
 */
export function rejectionSubject(rejection: EvidenceRejection, decision: RejectedDecision | undefined): EntrySubject {
  const bare = { ...NO_SUBJECT, entry_kind: 'rejection', outcome: 'rejected' }
  if (!rejection.verified_executor) return bare
  const { decision_id, resource_id, executor_sovereign_id } = rejection
  const { context_id, vendor_id, attestation_id, capability } = decision ?? NO_SUBJECT
  return {
    ...bare,
    decision_id,
    resource_id,
    executor_sovereign_id,
    context_id,
    vendor_id,
    attestation_id,
    capability,
  }
}
