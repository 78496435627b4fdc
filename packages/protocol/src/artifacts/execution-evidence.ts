import { digestOf } from '../canonical/digest.ts'
import { type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { FormError, type ReadBy } from '../reading/schema.ts'
import { integer, object, oneOf, string } from '../reading/shape.ts'
import { identifier, label, plainText, timestamp } from '../reading/text.ts'
import { omit, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { checkReceivedForm, readReceived, receivedDigest, signedProjection } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'

const EXECUTION_OUTCOMES = ['success', 'failure', 'partial'] as const
const RESOURCE_ACTIONS = ['create', 'rotate', 'revoke', 'update', 'delete'] as const

const position = integer(1, Number.MAX_SAFE_INTEGER)
/** A link is compared, never decoded: one that is no digest matches none. */
const link = plainText(128)

export const executionEvidenceForm = signedOnceForm({
  evidence_id: yes(identifier),
  sequence_no: yes(position),
  decision_id: yes(identifier),
  context_id: yes(identifier),
  agreement_id: yes(identifier),
  executor_sovereign_id: yes(identifier),
  executed_capability: yes(label),
  execution_parameters: yes(object),
  executed_at: yes(timestamp),
  outcome: yes(oneOf(...EXECUTION_OUTCOMES)),
  outcome_detail: orNull(string),
  prev_evidence_digest: orNull(link),
  resource_id: omit(label),
  resource_action: omit(oneOf(...RESOURCE_ACTIONS)),
  resource_sequence: omit(position),
  prev_resource_digest: omit(link),
})

/** What an executor did on the strength of an allowed decision (protocol/trust-operations 6.4). */
export type ExecutionEvidence = ReadBy<typeof executionEvidenceForm>

/**
 * The exact form a submission must have: no member missing, none unknown, in the signature neither. Throws
 * {@link FormError}. Stricter than reading a stored record, because an accepted record is permanent.
 */
export function readSubmittedEvidence(value: JsonValue): Received<ExecutionEvidence> {
  const received = readReceived(executionEvidenceForm, value)
  const verdict = checkReceivedForm(received)
  if (!verdict.ok) throw new FormError('', verdict.reason)
  const signature = member(received.wire, 'signature')
  if (signature === undefined) throw new FormError('signature', 'is missing')
  if (isJsonObject(signature) && Object.keys(signature).length !== 2)
    throw new FormError('signature', 'has an unknown member')
  return received
}

/** All three of a resource's members or none of them; a link without a resource links nothing. */
export function checkResourceMembers(record: ExecutionEvidence): void {
  const given = [record.resource_id, record.resource_action, record.resource_sequence]
  const count = given.filter((each) => each !== undefined).length
  if (count !== 0 && count !== given.length) throw new FormError('resource_id', 'is given in part')
  if (count === 0 && record.prev_resource_digest !== undefined)
    throw new FormError('prev_resource_digest', 'is given without a resource')
}

/** The digest by which records link: over what the executor signed. */
export function recordDigest(received: Received<ExecutionEvidence>): string {
  return receivedDigest(received)
}

/** Equal for two submissions that say the same, signature included; members without a value say nothing. */
export function submissionDigest(received: Received<ExecutionEvidence>): string {
  return digestOf({ ...signedProjection(received), signature: member(received.wire, 'signature') ?? null })
}
