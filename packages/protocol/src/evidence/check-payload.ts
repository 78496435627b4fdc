import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { contextRecordForm } from '../artifacts/context-record.ts'
import { checkResourceMembers, executionEvidenceForm } from '../artifacts/execution-evidence.ts'
import { signersOf } from '../artifacts/followed-keys.ts'
import { NO_SUBJECT, readEvidenceRejection, rejectionSubject } from '../artifacts/evidence-store-entry.ts'
import type { EntrySubject, EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { USAGE_VIOLATION_SUBJECT, readUsageViolation } from '../artifacts/data-access-intent.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { FormError, NO_PLACE } from '../reading/schema.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { type Received, signedText } from '../signing/received.ts'
import { checkApprovalPayload } from './check-approval.ts'
import type { CheckedPayload, Problem, StoreKeys } from './checked-payload.ts'
import type { ReadEvent } from './read-event.ts'
import { CHECKPOINT_SUBJECT, decisionSubject, executionSubject, isPresentedBound } from './shortcuts.ts'
import type { LineShortcuts } from './shortcuts.ts'

/** C(record) as it is in a plainly spelled line. */
interface PlainText {
  readonly text: string
  readonly shortcuts: LineShortcuts | undefined
}

/** The text that the signatures of a record cover. */
function textOf(received: Received<unknown>, plain: PlainText | undefined): string {
  return plain?.shortcuts?.cutSignature(received, plain.text) ?? signedText(received)
}

/** Everything about one payload that needs no other entry. */
export function checkPayload(
  { entry, payload, plainPayload }: ReadEvent,
  keys: StoreKeys,
  shortcuts?: LineShortcuts,
): CheckedPayload {
  const plain = plainPayload === undefined ? undefined : { text: plainPayload, shortcuts }
  switch (entry.entry_kind) {
    case 'decision':
      return checkDecision(entry, payload, keys, plain)
    case 'justification':
      return checkJustification(entry, payload, keys, plain)
    case 'execution':
      return checkExecutionPayload(entry, payload, keys, plain)
    case 'retention_checkpoint':
      return checkCheckpoint(entry, payload, keys, plain)
    case 'rejection':
      return checkRejection(entry, payload)
    case 'usage_violation':
      return readUnsigned(readUsageViolation, payload) === undefined
        ? invalid('usage_violation')
        : { problems: compareEnvelope(entry, USAGE_VIOLATION_SUBJECT), warnings: [] }
    case 'approval':
      return checkApprovalPayload(entry, payload, keys, (subject) => compareEnvelope(entry, subject))
    default:
      return { problems: [{ reason: 'unknown_entry_kind', detail: 'entry_kind' }], warnings: [] }
  }
}

function checkDecision(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  plain: PlainText | undefined,
): CheckedPayload {
  if (!isJsonObject(payload)) return invalid('payload')
  const decision = read(boundaryDecisionForm, member(payload, 'decision'), plain !== undefined)
  if (decision === undefined) return invalid('decision')
  const context = read(contextRecordForm, member(payload, 'context'), plain !== undefined)
  if (context === undefined) return invalid('context')
  const subject = decisionSubject({ decision: decision.record, context: context.record })
  const problems = compareEnvelope(entry, subject)
  const texts = plain?.shortcuts?.splitDecision(payload, plain.text)
  const part = (text: string | undefined): PlainText | undefined =>
    text === undefined ? undefined : { text, shortcuts: plain?.shortcuts }
  const bound = decision.record.policy_binding?.context_digest
  if (bound !== undefined && bound !== sha256Hex(textOf(context, part(texts?.context))))
    problems.push({ reason: 'payload_invalid', detail: 'context' })
  if (!isPresentedBound(payload, decision.record)) problems.push({ reason: 'payload_invalid', detail: 'attestation' })
  const strays = [
    ...unknownNames(payload, { attestation: true, decision: true, context: true }),
    ...unknownNames(context.wire, contextRecordForm.inside),
  ]
  const { decision_id, context_id, authorized, decision_made_at, decision_valid_until } = decision.record
  const { vendor_id, attestation_id, capability } = subject
  return {
    problems,
    warnings: [...strays, ...unsignedNames(decision.wire)],
    signed: {
      received: decision,
      text: textOf(decision, part(texts?.decision)),
      keys: signersOf(keys.authority, decision.record),
    },
    decision: {
      decision_id,
      authorized,
      decision_made_at,
      decision_valid_until,
      context_id,
      vendor_id,
      attestation_id,
      capability,
    },
  }
}

function checkJustification(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  plain: PlainText | undefined,
): CheckedPayload {
  const proof = read(justificationForm, payload, plain !== undefined)
  if (proof === undefined) return invalid('justification')
  const { decision_id, trace } = proof.record
  const { context_id, vendor_id, attestation_id, capability } = entry
  const subject = {
    ...NO_SUBJECT,
    entry_kind: 'justification',
    decision_id,
    context_id,
    vendor_id,
    attestation_id,
    capability,
    outcome: trace.final_authorized ? 'authorized' : 'denied',
  }
  return {
    problems: compareEnvelope(entry, subject),
    warnings: unsignedNames(proof.wire),
    signed: {
      received: proof,
      text: textOf(proof, plain),
      keys: signersOf(keys.authority, proof.record),
    },
    explains: decision_id,
  }
}

function checkExecutionPayload(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  plain: PlainText | undefined,
): CheckedPayload {
  const received = read(executionEvidenceForm, payload, plain !== undefined, checkResourceMembers)
  if (received === undefined) return invalid('execution')
  const { record } = received
  const problems = compareEnvelope(entry, executionSubject(record, entry))
  const key = record.signature === null ? undefined : keys.executor(record.signature.key_id)
  const isOwn = key?.executor_sovereign_id === record.executor_sovereign_id
  const text = textOf(received, plain)
  const { resource_id, resource_sequence, prev_resource_digest } = record
  return {
    problems,
    warnings: unsignedNames(received.wire),
    signed: { received, text, keys: key !== undefined && isOwn ? [key.public_key] : [] },
    execution: {
      decision_id: record.decision_id,
      sequence_no: record.sequence_no,
      prev_evidence_digest: record.prev_evidence_digest,
      executed_at: record.executed_at,
      executed_capability: record.executed_capability,
      ...(resource_id === undefined ? {} : { resource_id }),
      ...(resource_sequence === undefined ? {} : { resource_sequence }),
      ...(prev_resource_digest === undefined ? {} : { prev_resource_digest }),
      digest: sha256Hex(text),
    },
  }
}

function checkCheckpoint(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  plain: PlainText | undefined,
): CheckedPayload {
  const received = read(retentionCheckpointForm, payload, plain !== undefined)
  if (received === undefined) return invalid('retention_checkpoint')
  const { removed_through_sequence, last_removed_entry_digest } = received.record
  return {
    problems: compareEnvelope(entry, CHECKPOINT_SUBJECT),
    warnings: unsignedNames(received.wire),
    signed: {
      received,
      text: textOf(received, plain),
      keys: signersOf(keys.authority, received.record),
    },
    checkpoint: { removed_through_sequence, last_removed_entry_digest },
  }
}

/** It has no signature: only its form and its envelope are checked. */
function checkRejection(entry: EvidenceStoreEntry, payload: JsonValue): CheckedPayload {
  const rejection = readUnsigned(readEvidenceRejection, payload)
  if (rejection === undefined) return invalid('rejection')
  const { verified_executor, decision_id } = rejection
  return {
    problems: compareEnvelope(entry, rejectionSubject(rejection, entry)),
    warnings: [],
    isRejection: true,
    ...(verified_executor && decision_id !== null ? { explains: decision_id } : {}),
  }
}

function readUnsigned<Value>(reader: (payload: JsonValue) => Value, payload: JsonValue): Value | undefined {
  try {
    return reader(payload)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

function invalid(detail: string): CheckedPayload {
  return { problems: [{ reason: 'payload_invalid', detail }], warnings: [] }
}

function read<Value>(
  form: RecordForm<Value>,
  value: JsonValue | undefined,
  isPlain: boolean,
  rule?: (record: Value) => void,
): Received<Value> | undefined {
  if (!isJsonObject(value)) return undefined
  try {
    const record = form.read(value, NO_PLACE)
    rule?.(record)
    return { form, record, wire: value, isPlain }
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

const SUBJECT_NAMES = ['entry_kind', ...Object.keys(NO_SUBJECT)] as (keyof EntrySubject)[]

/** An index over false envelopes would find the wrong records, though every digest held. */
function compareEnvelope(entry: EvidenceStoreEntry, subject: EntrySubject): Problem[] {
  const wrong = SUBJECT_NAMES.filter((detail) => entry[detail] !== subject[detail])
  return wrong.map((detail) => ({ reason: 'envelope_mismatch', detail }))
}

function unknownNames(wire: JsonObject, known: object): string[] {
  return Object.keys(wire).filter((name) => !Object.hasOwn(known, name))
}

/** Members other than key_id and sig: they are not signed. */
function unsignedNames(wire: JsonObject): string[] {
  const signature = member(wire, 'signature')
  return isJsonObject(signature) ? unknownNames(signature, { key_id: true, sig: true }).map(() => 'signature') : []
}
