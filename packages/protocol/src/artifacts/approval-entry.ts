import type { JsonValue } from '../canonical/utf8.ts'
import type { ReadBy } from '../reading/schema.ts'
import { closed, nullable, object, oneOf, readRecord, required } from '../reading/shape.ts'
import { digest, identifier, publicKey, timestamp, uuid } from '../reading/text.ts'
import { type EntrySubject, NO_SUBJECT } from './evidence-store-entry.ts'

export const APPROVAL_EVENTS = ['requested', 'stated', 'approved', 'denied', 'expired', 'cancelled', 'used'] as const
export type ApprovalEvent = (typeof APPROVAL_EVENTS)[number]

export const APPROVAL_STATES = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'used'] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

/** Of expired and cancelled approvals. */
export const APPROVAL_CAUSES = [
  'time_limit',
  'use_limit',
  'asker',
  'operator',
  'policy_changed',
  'approver_revoked',
] as const
export type ApprovalCause = (typeof APPROVAL_CAUSES)[number]

const approver = closed({
  kind: required(oneOf('operator', 'member', 'partner')),
  id: required(identifier),
  sovereign_id: required(identifier),
  public_key: required(publicKey),
  /** Null for an operator. */
  attestation_digest: required(nullable(digest)),
  /** The treaty under which a member of a partner was accepted. */
  treaty_id: required(nullable(identifier)),
})
/** Who approved or denied, as the authority verified it. */
export type VerifiedApprover = ReadBy<typeof approver>

export const approvalEntryShape = closed({
  approval_id: required(uuid),
  event: required(oneOf(...APPROVAL_EVENTS)),
  at: required(timestamp),
  state: required(oneOf(...APPROVAL_STATES)),
  /** The held decision; of `used` the authorized one. */
  decision_id: required(identifier),
  approval_request: required(nullable(object)),
  statement: required(nullable(object)),
  approver: required(nullable(approver)),
  use_until: required(nullable(timestamp)),
  cause: required(nullable(oneOf(...APPROVAL_CAUSES))),
})

/** The payload of an evidence entry of kind approval (protocol/approvals 6). */
export type ApprovalEntry = ReadBy<typeof approvalEntryShape>

export function readApprovalEntry(value: JsonValue): ApprovalEntry {
  return readRecord(approvalEntryShape, value)
}

/** The members of an entry that are the same for each event of an approval. */
export type ApprovalParties = Pick<EntrySubject, 'context_id' | 'vendor_id' | 'attestation_id' | 'capability'>

/** The envelope: that of the decision, with the event as its outcome. */
export function approvalSubject({ decision_id, event }: ApprovalEntry, parties: ApprovalParties): EntrySubject {
  const { context_id, vendor_id, attestation_id, capability } = parties
  return {
    ...NO_SUBJECT,
    entry_kind: 'approval',
    decision_id,
    context_id,
    vendor_id,
    attestation_id,
    capability,
    outcome: event,
  }
}
