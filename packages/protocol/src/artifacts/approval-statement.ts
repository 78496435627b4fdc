import { type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { FormError, type ReadBy } from '../reading/schema.ts'
import { oneOf } from '../reading/shape.ts'
import { digest, identifier, publicKey, textOf, timestamp, uuid } from '../reading/text.ts'
import { closedPart, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { type Received, checkReceivedForm, readReceived } from '../signing/received.ts'

export const APPROVAL_STATEMENT_TYPE = 'chancery.approval-statement.v1'
export const MAX_REASON = 500

const approver = closedPart({
  kind: yes(oneOf('operator', 'member', 'partner')),
  /** The key id of an operator, otherwise the id of the attestation. */
  id: yes(identifier),
  sovereign_id: yes(identifier),
})
export type StatedApprover = ReadBy<typeof approver>

export const approvalStatementForm = signedOnceForm({
  type: yes(oneOf(APPROVAL_STATEMENT_TYPE)),
  statement_id: yes(uuid),
  approval_id: yes(uuid),
  /** Binds the statement to one signed request and all its values. */
  approval_request_digest: yes(digest),
  verdict: yes(oneOf('approve', 'deny')),
  approver: yes(approver),
  public_key: yes(publicKey),
  stated_at: yes(timestamp),
  reason: orNull(textOf(MAX_REASON)),
})

/** What a person says to a held request, signed with its own key (protocol/approvals 5). */
export type ApprovalStatement = ReadBy<typeof approvalStatementForm>

/** The exact form of a statement, its signature included. Throws {@link FormError}. */
export function readApprovalStatement(value: JsonValue): Received<ApprovalStatement> {
  const received = readReceived(approvalStatementForm, value)
  const verdict = checkReceivedForm(received)
  if (!verdict.ok) throw new FormError('', verdict.reason)
  const signature = member(received.wire, 'signature')
  if (!isJsonObject(signature)) throw new FormError('signature', 'is missing')
  if (Object.keys(signature).length !== 2) throw new FormError('signature', 'has an unknown member')
  const { record } = received
  if (record.signature?.key_id !== record.approver.id) throw new FormError('signature', 'must name the approver')
  return received
}
