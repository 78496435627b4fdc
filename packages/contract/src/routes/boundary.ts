import {
  agreementRecordForm,
  boundaryDecisionForm,
  contextRecordForm,
  field,
  justificationForm,
  readAttestation,
  shape,
} from '@chancery/protocol'
import { type AnswerOf, type SentOf, body, openBody } from '../form.ts'
import { count, flag, nodeProof, record, recordOrText, signedRecord, text, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { approvalState } from './approvals.ts'

const { nullable, oneOf, open, optional, required } = shape

const agreement = recordOrText(record('agreement-record', agreementRecordForm.read))
const decision = signedRecord('boundary-decision', boundaryDecisionForm)
const shownContext = record('context-record', contextRecordForm.read)

/** The authority adds the other facts (protocol/trust-operations 4.1). */
const context = {
  context_id: optional(shape.string),
  parent_kind: optional(oneOf('agreement', 'delegation', 'direct')),
  requester_sovereign_id: optional(shape.string),
  provider_sovereign_id: optional(shape.string),
  request_parameters: optional(shape.object),
  context_freshness_seq: optional(count),
}

/** An attestation of a partner, as its member sends it. */
export const presentedAttestation = open({
  attestation: required(recordOrText(record('membership-attestation', readAttestation))),
  issuer_sovereign_id: text,
  /** Only this treaty of the authority is considered. */
  treaty_id: optional(shape.string),
})

/** What is asked, and by which attestation. */
const question = {
  attestation_id: optional(shape.string),
  presented: optional(presentedAttestation),
  requested_capability: text,
  /** Attributes are normalised external facts, never secrets. */
  context: optional(open({ ...context, attributes: optional(shape.object) })),
}

/** A decision under the active policies, with the signed results of every gate. */
const decided = {
  decision: required(decision),
  justification_proof: required(signedRecord('justification-proof', justificationForm)),
  /** When a gate asked a person: send the same request again with this id once it is approved. */
  approval: optional(open(approvalState)),
  /** Whether the evidence store has the decision. Absent from authorities before this member. */
  decision_stored: optional(shape.boolean),
}

/** Of the approval that this request uses. */
const approval_id = optional(shape.string)

/** A closed form: with another member it would be read as no proof at all. */
const clientAssertion = shape.closed({
  kind: required(oneOf('client_assertion')),
  client_assertion: text,
  audience: text,
})

const requestProof = open({
  method: text,
  request_target: text,
  content_digest: text,
  audience: text,
  certificate: text,
  attestation: required(nullable(shape.string)),
  signature_input: text,
  signature: text,
})

const facts = {
  evaluate: {
    id: 'POST /admin/boundary/evaluate',
    access: 'operator:standard',
    limit: 'operator_decision',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Evaluate a request',
    purpose: 'Decides under the active policies and signs the decision with its justification.',
    errors: [
      'agreement_untrusted',
      'ambiguous_basis',
      'conflict',
      'context_party_mismatch',
      'context_too_large',
      'daily_bytes_exceeded',
      'disk_space_low',
      'evidence_store_unavailable',
      'invalid_agreement',
      'invalid_approval_id',
      'invalid_attestation',
      'invalid_attestation_id',
      'invalid_context',
      'invalid_input',
      'missing_boundary_fields',
      'wrong_issuer',
    ],
    repeatable: true,
    body: openBody(
      'invalid_input',
      /** Exactly one of agreement, attestation_id and presented. */
      { agreement: optional(agreement), ...question, approval_id },
      {
        attestation_id: '<attestation id>',
        requested_capability: 'payments.transfer',
        context: { request_parameters: { amount: 100 } },
      },
    ),
    /** The context is there with a presented attestation. Its digest is in the decision. */
    answer: open({ ...decided, context: optional(shownContext) }),
    records: { agreement: 'invalid_agreement', 'presented.attestation': 'invalid_attestation' },
    gateway: { operation: 'boundary_policy-evaluate', group: 'boundary_policy', since: 'v0.58' },
  },
  request: {
    id: 'POST /boundary/request',
    access: 'node',
    limit: 'decision-address',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Request a decision',
    purpose: 'Decides for a node, a member of a partner or a relay, which sign the request with their own key.',
    errors: [
      'ambiguous_basis',
      'attestation_not_bound',
      'attestation_untrusted',
      'caller_proof_rejected',
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_not_yet_valid',
      'certificate_revoked',
      'certificate_superseded',
      'conflict',
      'context_party_mismatch',
      'context_too_large',
      'daily_bytes_exceeded',
      'disk_space_low',
      'evidence_store_unavailable',
      'invalid_approval_id',
      'invalid_attestation',
      'invalid_attestation_id',
      'invalid_context',
      'invalid_input',
      'missing_boundary_fields',
      'missing_certificate_identity',
      'node_decisions_disabled',
      'node_key_compromised',
      'relay_not_allowed',
      'wrong_issuer',
    ],
    body: body(
      'invalid_input',
      {
        ...nodeProof,
        /** Of this key; not needed by a member of a partner. */
        cert_id: optional(shape.string),
        /** Exactly one of attestation_id and presented; attributes from a relay only. */
        ...question,
        /** From a relay: the request proof of its caller, or the client assertion of a token request. */
        on_behalf_of: optional(shape.anyOf(clientAssertion, requestProof)),
        /** With it, a repeated request gets the first decision. */
        idempotency_key: optional(shape.string),
        approval_id,
        /** An authorized response then has the head of this resource. */
        resource_id: optional(field.label),
      },
      {
        action: 'boundary-request',
        audience: '<public key of the authority>',
        cert_id: '<certificate id>',
        attestation_id: '<attestation id>',
        requested_capability: 'payments.read',
        node_public_key: '<public key>',
        timestamp: '2026-01-01T00:00:00Z',
        nonce: '<random nonce>',
        signature: '<signature>',
      },
    ),
    answer: open({
      ...decided,
      context: required(shownContext),
      /** Null before the first record of the resource; absent without `resource_id`, without a store and in a denial. */
      resource_head: optional(nullable(open({ resource_sequence: whole, record_digest: text }))),
    }),
    bodyLimit: 'decision',
    gateway: { operation: 'boundary-request', group: 'boundary', since: 'v0.60' },
  },
  decide: {
    id: 'POST /admin/boundary/decide',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Decide without policies',
    purpose: 'Decides on the agreement alone and signs the decision.',
    errors: [
      'agreement_untrusted',
      'boundary_eval_failed',
      'boundary_policy_required',
      'conflict',
      'context_party_mismatch',
      'context_too_large',
      'daily_bytes_exceeded',
      'disk_space_low',
      'evidence_store_unavailable',
      'invalid_agreement',
      'invalid_context',
      'missing_boundary_fields',
    ],
    repeatable: true,
    body: openBody(
      'missing_boundary_fields',
      { agreement: required(agreement), requested_capability: text, context: optional(open(context)) },
      {
        agreement: { paste: '<agreement record>' },
        requested_capability: 'payments.read',
        context: { request_parameters: {} },
      },
    ),
    answer: decision,
    records: { agreement: 'invalid_agreement' },
    gateway: { operation: 'boundary-decide', group: 'boundary' },
  },
  verify: {
    id: 'POST /boundary/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a decision',
    purpose: 'Verifies a boundary decision without storing anything.',
    errors: ['invalid_decision', 'invalid_public_keys', 'missing_decision'],
    body: openBody(
      'invalid_decision',
      { decision: required(recordOrText(decision)), operator_public_keys: optional(field.publicKeys) },
      { decision: { paste: '<boundary decision>' }, operator_public_keys: ['<public key>'] },
    ),
    answer: open({ accepted: flag, authorized: flag, reason: text, decision_id: text }),
    idempotent: true,
    records: { decision: 'invalid_decision' },
    gateway: { operation: 'boundary-verify', group: 'boundary' },
  },
} as const

/** Signed allow or deny decisions. A denial is an answer (201), not an error (protocol/trust-operations 4). */
export const boundary: Routes<typeof facts> = routes(facts)

export type EvaluateRequest = SentOf<typeof boundary.evaluate>
export type EvaluateResult = AnswerOf<typeof boundary.evaluate>
/** What the key of the client adds to the request is its proof (protocol/trust-operations 4.12). */
export type NodeDecisionRequest = Omit<SentOf<typeof boundary.request>, keyof typeof nodeProof>
export type NodeDecision = AnswerOf<typeof boundary.request>
export type DecideRequest = SentOf<typeof boundary.decide>
export type BoundaryContext = NonNullable<DecideRequest['context']>
/** An attestation of a partner as the basis of a decision (protocol/trust-operations 4.11). */
export type PresentedAttestation = NonNullable<EvaluateRequest['presented']>
/**
 * protocol/trust-operations 4.10. `accepted` means genuine; only `authorized` of an accepted decision permits the
 * request.
 */
export type BoundaryVerdict = AnswerOf<typeof boundary.verify>
