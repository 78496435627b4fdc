import { boundaryDecisionForm } from '../artifacts/boundary-decision.ts'
import { contextRecordForm } from '../artifacts/context-record.ts'
import { checkResourceMembers, executionEvidenceForm, recordDigest } from '../artifacts/execution-evidence.ts'
import type { ExecutionEvidence } from '../artifacts/execution-evidence.ts'
import { NO_SUBJECT } from '../artifacts/evidence-store-entry.ts'
import type { EntrySubject, EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { justificationForm } from '../artifacts/justification-proof.ts'
import { retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import { isJsonObject, member } from '../canonical/json-value.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { FormError } from '../reading/form-error.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { readReceived, receivedDigest } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'
import type { StoredDecision } from './ledgers.ts'
import type { StoreFinding } from './report.ts'
import { CHECKPOINT_SUBJECT, decisionSubject, executionSubject } from './subjects.ts'

/** Keys by which stored records are judged. Retired executor keys still verify what they signed. */
export interface StoreKeys {
  readonly authority: readonly string[]
  executor(key_id: string): { readonly public_key: string; readonly executor_sovereign_id: string } | undefined
}

/** What a payload turned out to be; each problem is named, none stops the others. */
export interface JudgedPayload {
  readonly problems: readonly Omit<StoreFinding, 'store_sequence'>[]
  readonly warnings: readonly string[]
  /** The signature to verify and the keys that may have made it; absent where the form is already broken. */
  readonly signed?: { readonly received: Received<unknown>; readonly keys: readonly string[] }
  readonly decision?: StoredDecision
  readonly execution?: { readonly record: ExecutionEvidence; readonly digest: string }
  readonly checkpoint?: RetentionCheckpoint
}

type Problem = Omit<StoreFinding, 'store_sequence'>
type Known = (decision_id: string) => StoredDecision | undefined

/** Everything about one payload that needs no other entry but the decision it belongs to. */
export function judgePayload(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  known: Known,
): JudgedPayload {
  switch (entry.entry_kind) {
    case 'decision':
      return judgeDecision(entry, payload, keys)
    case 'justification':
      return judgeJustification(entry, payload, keys, known)
    case 'execution':
      return judgeExecution(entry, payload, keys, known)
    case 'retention_checkpoint':
      return judgeCheckpoint(entry, payload, keys)
    default:
      return { problems: [{ reason: 'unknown_entry_kind', detail: 'entry_kind' }], warnings: [] }
  }
}

function judgeDecision(entry: EvidenceStoreEntry, payload: JsonValue, keys: StoreKeys): JudgedPayload {
  if (!isJsonObject(payload)) return invalid('payload')
  const decision = read(boundaryDecisionForm, member(payload, 'decision'))
  if (decision === undefined) return invalid('decision')
  const context = read(contextRecordForm, member(payload, 'context'))
  if (context === undefined) return invalid('context')
  const subject = decisionSubject({ decision: decision.record, context: context.record })
  const problems = compareEnvelope(entry, subject)
  const bound = decision.record.policy_binding?.context_digest
  if (bound !== undefined && bound !== receivedDigest(context))
    problems.push({ reason: 'payload_invalid', detail: 'context' })
  const strays = [
    ...unknownNames(payload, { decision: true, context: true }),
    ...unknownNames(context.wire, contextRecordForm.inside),
  ]
  const { authorized, agreement_id, decision_made_at, decision_valid_until } = decision.record
  return {
    problems,
    warnings: [...strays, ...unsignedNames(decision.wire)],
    signed: { received: decision, keys: keys.authority },
    decision: { authorized, agreement_id, decision_made_at, decision_valid_until, subject },
  }
}

function judgeJustification(
  entry: EvidenceStoreEntry,
  payload: JsonValue,
  keys: StoreKeys,
  known: Known,
): JudgedPayload {
  const proof = read(justificationForm, payload)
  if (proof === undefined) return invalid('justification')
  const { decision_id, trace } = proof.record
  const facts = known(decision_id)
  const outcome = trace.final_authorized ? 'authorized' : 'denied'
  const subject = {
    ...(facts?.subject ?? { ...pickSubject(entry), decision_id }),
    outcome,
    entry_kind: 'justification',
  }
  return {
    problems: compareEnvelope(entry, subject),
    warnings: unsignedNames(proof.wire),
    signed: { received: proof, keys: keys.authority },
  }
}

function judgeExecution(entry: EvidenceStoreEntry, payload: JsonValue, keys: StoreKeys, known: Known): JudgedPayload {
  const received = read(executionEvidenceForm, payload, checkResourceMembers)
  if (received === undefined) return invalid('execution')
  const { record } = received
  const facts = known(record.decision_id)
  const problems = compareEnvelope(entry, executionSubject(record, facts?.subject ?? entry))
  const key = record.signature === null ? undefined : keys.executor(record.signature.key_id)
  const isOwn = key?.executor_sovereign_id === record.executor_sovereign_id
  return {
    problems,
    warnings: unsignedNames(received.wire),
    signed: { received, keys: key !== undefined && isOwn ? [key.public_key] : [] },
    execution: { record, digest: recordDigest(received) },
  }
}

function judgeCheckpoint(entry: EvidenceStoreEntry, payload: JsonValue, keys: StoreKeys): JudgedPayload {
  const received = read(retentionCheckpointForm, payload)
  if (received === undefined) return invalid('retention_checkpoint')
  return {
    problems: compareEnvelope(entry, CHECKPOINT_SUBJECT),
    warnings: unsignedNames(received.wire),
    signed: { received, keys: keys.authority },
    checkpoint: received.record,
  }
}

function invalid(detail: string): JudgedPayload {
  return { problems: [{ reason: 'payload_invalid', detail }], warnings: [] }
}

function read<Value>(
  form: RecordForm<Value>,
  value: JsonValue | undefined,
  rule?: (record: Value) => void,
): Received<Value> | undefined {
  if (value === undefined) return undefined
  try {
    const received = readReceived(form, value)
    rule?.(received.record)
    return received
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

const SUBJECT_NAMES = ['entry_kind', ...Object.keys(NO_SUBJECT)] as (keyof EntrySubject)[]

/** An index over false envelopes would find the wrong records, though every digest held. */
function compareEnvelope(entry: EvidenceStoreEntry, subject: EntrySubject): Problem[] {
  return SUBJECT_NAMES.filter((name) => entry[name] !== subject[name]).map((detail) => ({
    reason: 'envelope_mismatch',
    detail,
  }))
}

function pickSubject(entry: EvidenceStoreEntry): EntrySubject {
  const { store_sequence: _s, recorded_at: _r, payload_digest: _p, prev_entry_digest: _e, ...subject } = entry
  return subject
}

function unknownNames(wire: JsonObject, known: object): string[] {
  return Object.keys(wire).filter((name) => !Object.hasOwn(known, name))
}

/** Members beside key_id and sig: nobody signed them. */
function unsignedNames(wire: JsonObject): string[] {
  const signature = member(wire, 'signature')
  return isJsonObject(signature) ? unknownNames(signature, { key_id: true, sig: true }).map(() => 'signature') : []
}
