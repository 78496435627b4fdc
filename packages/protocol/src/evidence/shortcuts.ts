import { type EntrySubject, NO_SUBJECT, asPlainEntry } from '../artifacts/evidence-store-entry.ts'
import { plainLength } from '../canonical/plain-length.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import type { FormMembers } from '../reading/trust-form.ts'
import type { Received } from '../signing/received.ts'
import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import type { ExecutionEvidence } from '../artifacts/execution-evidence.ts'
import { digestOf } from '../canonical/digest.ts'

/**
 * The text that the signatures of a record cover, where it can be cut out of C(record) as it is in a plainly spelled
 * line, so that nothing is written again; otherwise undefined.
 */
export function cutSignature({ form, wire }: Received<unknown>, plain: string): string | undefined {
  if (form.only !== undefined || hasNullToOmit(form.inside, wire)) return undefined
  const value = form.signature === 'none' ? undefined : member(wire, form.signature)
  if (value === undefined) return plain
  const written = `,"${form.signature}":${JSON.stringify(value)}`
  const start = plain.indexOf(written)
  // A second place with the same text: only a writer knows which of them is the signature.
  if (start < 0 || plain.includes(written, start + 1)) return undefined
  return plain.slice(0, start) + plain.slice(start + written.length)
}

const CONTEXT = '{"context":'
const DECISION = ',"decision":'

/** The two texts of a decision's payload, where the second one begins at the only place that can be its beginning. */
function splitDecision(
  payload: JsonObject,
  plain: string,
): { readonly context: string; readonly decision: string } | undefined {
  const at = plain.indexOf(DECISION)
  if (at < 0 || plain.includes(DECISION, at + 1) || Object.keys(payload).length !== 2) return undefined
  return { context: plain.slice(CONTEXT.length, at), decision: plain.slice(at + DECISION.length, -1) }
}

/** Members that a signed text leaves out when they are null, and parts that may have such members. */
interface Omitted {
  readonly names: readonly string[]
  readonly inner: readonly (readonly [name: string, inside: FormMembers])[]
}

const omitted = new WeakMap<FormMembers, Omitted>()

function omittedOf(members: FormMembers): Omitted {
  const known = omitted.get(members)
  if (known !== undefined) return known
  const all = Object.entries(members)
  const found = {
    names: all.flatMap(([name, { signed }]) => (signed === 'omit' ? [name] : [])),
    inner: all.flatMap(([name, { inside }]) => {
      if (inside === undefined) return []
      const { names, inner } = omittedOf(inside)
      return names.length + inner.length === 0 ? [] : [[name, inside] as const]
    }),
  }
  omitted.set(members, found)
  return found
}

function hasNullToOmit(members: FormMembers, value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).some((item) => hasNullToOmit(members, item))
  if (!isJsonObject(value)) return false
  const object: JsonObject = value
  const { names, inner } = omittedOf(members)
  return (
    names.some((name) => member(object, name) === null) ||
    inner.some(([name, inside]) => hasNullToOmit(inside, member(object, name)))
  )
}

/**
 * Faster ways to the same result, for those who verify millions of lines. Given as a value, so that the small bundles
 * of the client library do not contain them.
 */
export interface LineShortcuts {
  readonly plainLength: typeof plainLength
  readonly asPlainEntry: typeof asPlainEntry
  readonly cutSignature: typeof cutSignature
  readonly splitDecision: typeof splitDecision
}

export const lineShortcuts: LineShortcuts = { plainLength, asPlainEntry, cutSignature, splitDecision }

/** What an envelope takes from a decision and its context. */
export interface DecisionParts {
  readonly decision: {
    readonly decision_id: string
    readonly context_id: string
    readonly authorized: boolean
    readonly attestation_binding?: { readonly subject_id: string | null } | null
  }
  readonly context: {
    readonly requester_sovereign_id: string
    readonly requested_capability: string
    readonly attestation_id?: string | null
  }
}

/** The envelope of a decision; its justification says the same under another kind (protocol/trust-operations 6.2). */
export function decisionSubject({ decision, context }: DecisionParts): EntrySubject {
  return {
    ...NO_SUBJECT,
    entry_kind: 'decision',
    decision_id: decision.decision_id,
    context_id: decision.context_id,
    // The subject of the attestation; without one, the requesting party.
    vendor_id: decision.attestation_binding?.subject_id ?? context.requester_sovereign_id,
    attestation_id: context.attestation_id ?? null,
    capability: context.requested_capability,
    outcome: decision.authorized ? 'authorized' : 'denied',
  }
}

/** The envelope of an execution; vendor and attestation are those of the decision it rests on. */
export function executionSubject(
  record: ExecutionEvidence,
  decision: Pick<EntrySubject, 'vendor_id' | 'attestation_id'>,
): EntrySubject {
  return {
    entry_kind: 'execution',
    decision_id: record.decision_id,
    context_id: record.context_id,
    vendor_id: decision.vendor_id,
    attestation_id: decision.attestation_id,
    capability: record.executed_capability,
    outcome: record.outcome,
    evidence_id: record.evidence_id,
    executor_sovereign_id: record.executor_sovereign_id,
    exec_sequence_no: record.sequence_no,
    resource_id: record.resource_id ?? null,
    resource_action: record.resource_action ?? null,
    resource_sequence: record.resource_sequence ?? null,
  }
}

export const CHECKPOINT_SUBJECT: EntrySubject = { ...NO_SUBJECT, entry_kind: 'retention_checkpoint' }

/** Whether the attestation of a partner in the payload of a decision, if any, is the one that the decision names. */
export function isPresentedBound(
  payload: JsonObject,
  { attestation_binding }: Pick<BoundaryDecision, 'attestation_binding'>,
): boolean {
  const attestation = member(payload, 'attestation')
  if (attestation === undefined) return true
  if (!isJsonObject(attestation) || attestation_binding === undefined) return false
  const { signatures: _signatures, ...body } = attestation
  const { attestation_id, attestation_digest } = attestation_binding
  return body['attestation_id'] === attestation_id && digestOf(body) === attestation_digest
}
