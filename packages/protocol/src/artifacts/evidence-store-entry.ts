import { type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { isInstant } from '../canonical/time.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { boolean, closed, integer, nullable, readRecord, required, string } from '../reading/shape.ts'
import { digest, identifier, matching, timestamp } from '../reading/text.ts'

export const ENTRY_KINDS = [
  'decision',
  'justification',
  'execution',
  'retention_checkpoint',
  'rejection',
  'usage_violation',
  'approval',
] as const

/** What an envelope says about its payload, without its place in the store. */
export type EntrySubject = Omit<
  EvidenceStoreEntry,
  'store_sequence' | 'recorded_at' | 'payload_digest' | 'prev_entry_digest'
>

const text = required(nullable(string))
const position = integer(1, Number.MAX_SAFE_INTEGER)

export const evidenceStoreEntryShape = closed({
  store_sequence: required(position),
  entry_kind: required(string),
  recorded_at: required(timestamp),
  payload_digest: required(string),
  prev_entry_digest: text,
  decision_id: text,
  context_id: text,
  vendor_id: text,
  attestation_id: text,
  capability: text,
  outcome: text,
  evidence_id: text,
  executor_sovereign_id: text,
  exec_sequence_no: required(nullable(position)),
  resource_id: text,
  resource_action: text,
  resource_sequence: required(nullable(position)),
})

/**
 * The envelope of one stored record (protocol/trust-operations 6.2). Its digest covers all seventeen members; what has
 * no value is null, never left out.
 */
export type EvidenceStoreEntry = ReadBy<typeof evidenceStoreEntryShape>

export function readEvidenceStoreEntry(value: JsonValue): EvidenceStoreEntry {
  return readRecord(evidenceStoreEntryShape, value)
}

/**
 * The same for a value of the platform's reader, as it is and without a copy; undefined where the careful reader has to
 * decide. An export has one envelope a line, so this is asked millions of times.
 */
export function asPlainEntry(value: JsonValue): EvidenceStoreEntry | undefined {
  if (!isJsonObject(value)) return undefined
  const entry = value as Partial<EvidenceStoreEntry>
  const isKnown =
    isText(entry.attestation_id) &&
    isText(entry.capability) &&
    isText(entry.context_id) &&
    isText(entry.decision_id) &&
    typeof entry.entry_kind === 'string' &&
    isText(entry.evidence_id) &&
    isPosition(entry.exec_sequence_no) &&
    isText(entry.executor_sovereign_id) &&
    isText(entry.outcome) &&
    typeof entry.payload_digest === 'string' &&
    isText(entry.prev_entry_digest) &&
    typeof entry.recorded_at === 'string' &&
    isInstant(entry.recorded_at) &&
    isText(entry.resource_action) &&
    isText(entry.resource_id) &&
    isPosition(entry.resource_sequence) &&
    entry.store_sequence !== null &&
    isPosition(entry.store_sequence) &&
    isText(entry.vendor_id) &&
    Object.keys(value).length === MEMBERS
  return isKnown ? (entry as EvidenceStoreEntry) : undefined
}

const MEMBERS = 17

function isText(value: unknown): boolean {
  return typeof value === 'string' || value === null
}

function isPosition(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 1)
}

/** An envelope that names nothing; each kind fills in what its payload says. */
export const NO_SUBJECT: Omit<EntrySubject, 'entry_kind'> = {
  decision_id: null,
  context_id: null,
  vendor_id: null,
  attestation_id: null,
  capability: null,
  outcome: null,
  evidence_id: null,
  executor_sovereign_id: null,
  exec_sequence_no: null,
  resource_id: null,
  resource_action: null,
  resource_sequence: null,
}

/** Names as they were claimed are cut to so many characters. */
const CLAIMED_CHARACTERS = 256

const claimed: Read<string> = described(
  (value, field) => {
    if (typeof value !== 'string' || value.length > CLAIMED_CHARACTERS)
      throw new FormError(field, `must be a text of at most ${CLAIMED_CHARACTERS} characters`)
    return value
  },
  () => ({ type: 'string', maxLength: CLAIMED_CHARACTERS }),
)
const name = required(nullable(claimed))

const evidenceRejectionShape = closed({
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
