import { type JsonValue, isJsonObject } from '../canonical/json-value.ts'
import { isInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { closed, integer, nullable, readRecord, required, string } from '../reading/shape.ts'
import { timestamp } from '../reading/text.ts'

export const ENTRY_KINDS = [
  'decision',
  'justification',
  'execution',
  'retention_checkpoint',
  'rejection',
  'usage_violation',
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
