import { digestOf } from '../canonical/digest.ts'
import type { ReadBy } from '../reading/schema.ts'
import { integer, object, oneOf } from '../reading/shape.ts'
import { identifier, label, timestamp } from '../reading/text.ts'
import { omit, unsignedForm, yes } from '../reading/trust-form.ts'
import { asReceived, signedProjection } from '../signing/received.ts'

export const PARENT_KINDS = ['agreement', 'delegation', 'direct', 'attestation'] as const
export type ParentKind = (typeof PARENT_KINDS)[number]

export const contextRecordForm = unsignedForm({
  context_id: yes(identifier),
  /** Under the attestation basis, the id of the attestation. */
  agreement_id: yes(identifier),
  parent_kind: yes(oneOf(...PARENT_KINDS)),
  requester_sovereign_id: yes(label),
  provider_sovereign_id: yes(identifier),
  requested_capability: yes(label),
  request_parameters: yes(object, {}),
  /** The authority's own clock, never the caller's. */
  requested_at: yes(timestamp),
  /** The caller's own statement; proves nothing by itself. */
  context_freshness_seq: yes(integer(0, Number.MAX_SAFE_INTEGER)),
  attributes: yes(object, {}),
  attestation_id: omit(identifier),
})

/**
 * What was asked, by whom and when (protocol/trust-operations 4.1). The authority builds it and never signs it: its
 * digest is what a decision binds.
 */
export type ContextRecord = ReadBy<typeof contextRecordForm>

/** H(C(context)), an absent `attestation_id` left out. */
export function contextDigest(context: ContextRecord): string {
  return digestOf(signedProjection(asReceived(contextRecordForm, context)))
}
