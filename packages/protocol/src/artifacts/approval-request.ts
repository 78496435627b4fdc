import type { JsonValue } from '../canonical/utf8.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { anyOf, arrayOf, boolean, closed, integer, oneOf, required, string } from '../reading/shape.ts'
import { depthOf, digest, identifier, keyId, label, plainText, timestamp, uuid } from '../reading/text.ts'
import { closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'

export const APPROVAL_REQUEST_TYPE = 'chancery.approval-request.v1'
/** Approvers of one gate, and gates of one request with its policies. */
export const MAX_REQUIREMENTS = 4
/** Values of a request that a record shows. */
export const MAX_SHOWN = 64

const count = required(integer(1, 5))

const operators = closed({
  kind: required(oneOf('operators')),
  count,
  tier: required(oneOf('standard', 'privileged')),
  key_ids: required(arrayOf(keyId, { max: 64, distinct: true })),
})
const people = closed({ kind: required(oneOf('members', 'partner')), count, role: required(plainText(128)) })

/** Who must approve, with every default written out (protocol/approvals 2). */
export const approversShape: Read<ReadBy<typeof operators> | ReadBy<typeof people>> = anyOf(operators, people)
export type Approvers = ReadBy<typeof approversShape>

const requirement = closedPart({
  policy_id: yes(identifier),
  version: yes(integer(1, Number.MAX_SAFE_INTEGER)),
  policy_digest: yes(digest),
  gate_id: yes(string),
  title: yes(plainText(120)),
  approvers: yes(listOf(approversShape, { min: 1, max: MAX_REQUIREMENTS })),
})
/** What one gate of one policy asks for. */
export type ApprovalRequirement = ReadBy<typeof requirement>

const scalar: Read<JsonValue> = described(
  (value, field) => {
    if (depthOf(value) > 0) throw new FormError(field, 'a single value is needed')
    return value
  },
  () => ({ type: ['string', 'number', 'boolean', 'null'] }),
)

const shown = closedPart({
  /** A JSON pointer, such as /request_parameters/amount. */
  path: yes(string),
  value: yes(scalar),
  /** Only the beginning of a longer text. */
  cut: yes(boolean),
})
export type ShownValue = ReadBy<typeof shown>

const reserved = closedPart({
  source: yes(string),
  unit: orNull(string),
  asked: yes(string),
  remaining: yes(string),
})
/** What the request uses of a budget while it is held. */
export type ReservedBudget = ReadBy<typeof reserved>

export const askerPart = closedPart({ kind: yes(oneOf('node', 'operator')), id: yes(identifier) })
/** Who asked: a node by its public key, an operator by its key id. */
export type Asker = ReadBy<typeof askerPart>

export const approvalRequestForm = signedOnceForm({
  type: yes(oneOf(APPROVAL_REQUEST_TYPE)),
  approval_id: yes(uuid),
  /** The decision that denied the request for now. */
  decision_id: yes(identifier),
  context_digest: yes(digest),
  /** Of everything that the request says, see {@link requestOfApproval}. */
  request_digest: yes(digest),
  asker: yes(askerPart),
  requested_capability: yes(label),
  requester_sovereign_id: yes(identifier),
  issuer_sovereign_id: orNull(identifier),
  subject_id: orNull(plainText(256)),
  resource_id: orNull(label),
  requirements: yes(listOf(requirement, { min: 1 })),
  shown: yes(listOf(shown, { max: MAX_SHOWN })),
  /** False when a value was left out or cut, or a part of the request is not bound. */
  shown_complete: yes(boolean),
  budgets: yes(listOf(reserved)),
  unbound_paths: yes(listOf(string)),
  opened_at: yes(timestamp),
  expires_at: yes(timestamp),
  operator_sovereign_id: yes(identifier),
  issued_by: yes(identifier),
})

/** A request that a person must approve, as the authority signs it (protocol/approvals 4). */
export type ApprovalRequest = ReadBy<typeof approvalRequestForm>
