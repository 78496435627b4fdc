import {
  APPROVAL_STATES,
  MAX_REASON,
  approvalRequestForm,
  approvalStatementForm,
  contextRecordForm,
  field,
  readAttestation,
  shape,
} from '@chancery/protocol'
import { type AnswerOf, type SentOf, body } from '../form.ts'
import {
  cursorQuery,
  listOf,
  nodeProof,
  record,
  recordOrText,
  signedRecord,
  text,
  textOrNull,
  texts,
  whole,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { STATEMENT_EXAMPLE } from './approval-example.ts'

const { nullable, oneOf, open, optional, required } = shape
const state = required(oneOf(...APPROVAL_STATES))
const request = signedRecord('approval-request', approvalRequestForm)
const statement = signedRecord('approval-statement', approvalStatementForm)

/** What every answer says of an approval. */
export const approvalState = {
  approval_id: text,
  state,
  expires_at: text,
  use_until: textOrNull,
  /** When to ask again, while it is open. */
  poll_after_seconds: whole,
}

const approval = open({
  approval_id: text,
  state,
  approval_request: required(request),
  approval_request_digest: text,
  statements: listOf(statement, 64),
  needed: listOf(open({ policy_id: text, gate_id: text, kind: text, count: whole, given: whole }), 1024),
  use_until: textOrNull,
  decision_id: text,
  used_by_decision_id: textOrNull,
  cause: textOrNull,
  history: listOf(open({ event: text, at: text }), 128),
})
const shownApproval = open({ approval: required(approval) })

const listed = open({
  approval_id: text,
  state,
  opened_at: text,
  expires_at: text,
  requested_capability: text,
  requester_sovereign_id: text,
  subject_id: textOrNull,
  /** Written by the authors of the policies. */
  titles: texts,
  needed: whole,
  given: whole,
})

/** Exactly one of them. */
const attested = {
  attestation_id: optional(shape.string),
  presented: optional(
    open({
      attestation: required(recordOrText(record('membership-attestation', readAttestation))),
      issuer_sovereign_id: text,
      /** Only this treaty of the authority is considered. */
      treaty_id: optional(shape.string),
    }),
  ),
}
const ATTESTED_ERRORS = [
  'ambiguous_basis',
  'attestation_not_bound',
  'attestation_untrusted',
  'invalid_attestation',
  'invalid_attestation_id',
  'invalid_input',
  'wrong_issuer',
] as const

const STATEMENT_ERRORS = [
  'approval_closed',
  'approval_not_found',
  'approver_is_requester',
  'conflict',
  'disk_space_low',
  'evidence_store_disabled',
  'evidence_store_unavailable',
  'invalid_statement',
  'statement_rejected',
] as const

const stated = body('invalid_statement', { statement: required(statement) }, { statement: STATEMENT_EXAMPLE })

const proof = {
  audience: '<public key of the authority>',
  node_public_key: '<public key>',
  timestamp: '2026-01-01T00:00:00Z',
  nonce: '<random nonce>',
  signature: '<signature>',
}

const facts = {
  list: {
    id: 'GET /admin/approvals',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'List approvals',
    purpose: 'Lists requests that wait for a person, the oldest first; with a state or all also those that ended.',
    errors: ['evidence_store_disabled', 'invalid_input', 'invalid_page', 'unexpected_field'],
    query: { ...cursorQuery, state: oneOf(...APPROVAL_STATES, 'all') },
    answer: open({ count: whole, approvals: listOf(listed), next_cursor: textOrNull }),
  },
  find: {
    id: 'GET /admin/approvals/{approval_id}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One approval',
    purpose: 'Gives the signed request, its statements, what is still needed and the context of the decision.',
    errors: ['approval_not_found', 'evidence_store_disabled'],
    answer: open({
      approval: required(approval),
      /** Null when retention has removed the held decision. */
      context: required(nullable(record('context-record', contextRecordForm.read))),
    }),
  },
  approve: {
    id: 'POST /admin/approvals/{approval_id}/approve',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Approve a request',
    purpose: 'Stores a statement that the operator signed over exactly this request.',
    errors: [...STATEMENT_ERRORS, 'not_an_approver'],
    body: stated,
    answer: shownApproval,
    idempotent: true,
  },
  deny: {
    id: 'POST /admin/approvals/{approval_id}/deny',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Deny a request',
    purpose: 'Stores a signed denial, which ends the approval.',
    errors: [...STATEMENT_ERRORS, 'not_an_approver'],
    body: stated,
    answer: shownApproval,
    idempotent: true,
  },
  cancel: {
    id: 'POST /admin/approvals/{approval_id}/cancel',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Cancel an approval',
    purpose: 'Ends an open approval, so that it can be neither given nor used.',
    errors: [
      'approval_closed',
      'approval_not_found',
      'disk_space_low',
      'evidence_store_disabled',
      'evidence_store_unavailable',
      'invalid_input',
    ],
    body: body('invalid_input', { reason: required(field.textOf(MAX_REASON)) }, { reason: 'asked for by mistake' }),
    answer: shownApproval,
  },
  status: {
    id: 'POST /approvals/status',
    access: 'node',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'State of an approval',
    purpose: 'Gives the state of an approval to the key that asked for it.',
    errors: ['approval_not_found', 'evidence_store_disabled', 'invalid_input'],
    body: body(
      'invalid_input',
      { ...nodeProof, approval_id: text },
      { ...proof, action: 'approval-status', approval_id: '<approval id>' },
    ),
    answer: open(approvalState),
    bodyLimit: 'node',
  },
  cancelOwn: {
    id: 'POST /approvals/cancel',
    access: 'node',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Withdraw a held request',
    purpose: 'Ends an open approval for the key that asked for it, and releases what it reserved.',
    errors: [
      'approval_closed',
      'approval_not_found',
      'disk_space_low',
      'evidence_store_disabled',
      'evidence_store_unavailable',
      'invalid_input',
    ],
    body: body(
      'invalid_input',
      { ...nodeProof, approval_id: text },
      { ...proof, action: 'approval-cancel', approval_id: '<approval id>' },
    ),
    answer: open(approvalState),
    bodyLimit: 'node',
  },
  listForApprover: {
    id: 'POST /approvals/list',
    access: 'node',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Approvals for an approver',
    purpose: 'Lists the pending approvals that the holder of an attestation may give.',
    errors: [...ATTESTED_ERRORS, 'evidence_store_disabled'],
    body: body(
      'invalid_input',
      { ...nodeProof, ...attested },
      { ...proof, action: 'approval-list', attestation_id: '<attestation id>' },
    ),
    answer: open({ count: whole, approvals: listOf(listed) }),
    bodyLimit: 'decision',
  },
  showToApprover: {
    id: 'POST /approvals/show',
    access: 'node',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One approval for an approver',
    purpose: 'Gives the signed request to the holder of an attestation that may approve it.',
    errors: [...ATTESTED_ERRORS, 'approval_not_found', 'evidence_store_disabled'],
    body: body(
      'invalid_input',
      { ...nodeProof, ...attested, approval_id: text },
      { ...proof, action: 'approval-show', approval_id: '<approval id>', attestation_id: '<attestation id>' },
    ),
    answer: open({ approval_request: required(request), approval_request_digest: text, state }),
    bodyLimit: 'decision',
  },
  state: {
    id: 'POST /approvals/statement',
    access: 'public',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Approve or deny as a member',
    purpose: 'Stores a statement that a member, or a member of a partner, signed with the key of its attestation.',
    errors: [...STATEMENT_ERRORS, ...ATTESTED_ERRORS],
    body: body(
      'invalid_statement',
      { statement: required(statement), ...attested },
      { statement: STATEMENT_EXAMPLE, attestation_id: '<attestation id>' },
    ),
    answer: open({ approval_id: text, state }),
    bodyLimit: 'decision',
    idempotent: true,
    records: { 'presented.attestation': 'invalid_attestation' },
  },
} as const

/** Requests that wait for a person (protocol/approvals). */
export const approvals: Routes<typeof facts> = routes(facts)

export type ApprovalStatus = AnswerOf<typeof approvals.status>
export type ListedApproval = AnswerOf<typeof approvals.list>['approvals'][number]
export type Approval = AnswerOf<typeof approvals.find>['approval']
export type ApproverAttestation = Omit<SentOf<typeof approvals.listForApprover>, keyof typeof nodeProof>
