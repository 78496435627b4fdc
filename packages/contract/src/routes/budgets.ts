import { budgetStatusForm, shape } from '@chancery/protocol'
import { type AnswerOf, body } from '../form.ts'
import { cursorQuery, flag, listOf, nodeProof, signedRecord, text, textOrNull, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { presentedAttestation } from './boundary.ts'

const { nullable, object, oneOf, open, optional, required } = shape

/** A counter in its present window. Amounts are decimals as text. */
const budget = {
  budget_key: text,
  source: text,
  measure: required(object),
  per: required(object),
  unit: textOrNull,
  window: required(open({ name: text, from: text, until: text })),
  limit: text,
  counts: required(oneOf('on_allow', 'on_execution')),
  used: text,
  reserved: text,
  remaining: text,
  visible: flag,
}

const facts = {
  list: {
    id: 'GET /admin/budgets',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'List budgets',
    purpose: 'Lists the counters of budgets that have an open window, with what is used, reserved and left.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: {
      /** `policy:<policy_id>/<gate_id>` or `treaty:<partner>/<budget_id>`. */
      source: shape.string,
      requester: shape.string,
      state: oneOf('open', 'warning', 'exhausted'),
      ...cursorQuery,
    },
    answer: open({ count: whole, budgets: listOf(open(budget)), next_cursor: required(nullable(shape.string)) }),
  },
  show: {
    id: 'GET /admin/budgets/{budget_key}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Show a budget',
    purpose: 'Shows one counter with the newest 100 decisions that used it.',
    errors: ['budget_not_found'],
    answer: open({
      ...budget,
      decisions: listOf(
        open({
          decision_id: text,
          store_sequence: whole,
          asked: text,
          state: required(oneOf('counted', 'reserved', 'released')),
        }),
      ),
    }),
  },
  verify: {
    id: 'POST /admin/budgets/verify',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Verify budgets',
    purpose: 'Computes all counters with an open window again from the evidence store, and repairs those that differ.',
    errors: ['evidence_store_required'],
    body: body('invalid_input', {}, {}),
    answer: open({
      verified: flag,
      /** Counters that were compared. */
      checked: whole,
      mismatches: listOf(open({ budget_key: text, window: text, stored: text, computed: text })),
    }),
  },
  status: {
    id: 'POST /budgets/status',
    access: 'node',
    limit: 'approval',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Read your budgets',
    purpose:
      'Gives a member what is left of the budgets of its treaty and of policies that count it alone; no decision is stored.',
    errors: [
      'ambiguous_basis',
      'attestation_not_bound',
      'attestation_untrusted',
      'certificate_expired',
      'certificate_key_mismatch',
      'certificate_not_found',
      'certificate_not_yet_valid',
      'certificate_revoked',
      'certificate_superseded',
      'invalid_attestation',
      'invalid_attestation_id',
      'invalid_input',
      'missing_certificate_identity',
      'node_decisions_disabled',
      'node_key_compromised',
      'wrong_issuer',
    ],
    body: body(
      'invalid_input',
      {
        ...nodeProof,
        cert_id: optional(shape.string),
        /** Exactly one of attestation_id and presented. */
        attestation_id: optional(shape.string),
        presented: optional(presentedAttestation),
      },
      {
        action: 'budget-status',
        audience: '<public key of the authority>',
        cert_id: '<certificate id>',
        attestation_id: '<attestation id>',
        node_public_key: '<public key>',
        timestamp: '2026-01-01T00:00:00Z',
        nonce: '<random nonce>',
        signature: '<signature>',
      },
    ),
    answer: signedRecord('budget-status', budgetStatusForm),
    bodyLimit: 'decision',
  },
} as const

/** What many requests may use together. */
export const budgets: Routes<typeof facts> = routes(facts)

export type BudgetList = AnswerOf<typeof budgets.list>
export type Budget = BudgetList['budgets'][number]
export type BudgetDetails = AnswerOf<typeof budgets.show>
export type BudgetCheck = AnswerOf<typeof budgets.verify>
