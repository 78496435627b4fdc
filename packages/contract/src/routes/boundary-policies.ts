import { field, shape } from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import {
  flag,
  listOf,
  pageQuery,
  paging,
  recordOrText,
  storedRecord,
  text,
  textOrNull,
  texts,
  whole,
  wholeOrNull,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { intentBody, policy, policyOrNull, row, simulation, simulationBody } from './boundary-policy-forms.ts'

const { arrayOf, nullable, open, optional, required, withDefault } = shape

const versionBody = openBody('invalid_policy_version', { version: whole }, { version: 1 })
const switched = { policy_id: text, version: whole, active: flag }

const facts = {
  validate: {
    id: 'POST /admin/boundary-policies/validate',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Check a boundary policy',
    purpose: 'Lists the problems of a policy intent; nothing is signed or stored.',
    errors: ['invalid_boundary_policy', 'missing_policy_id', 'missing_validity_window'],
    body: intentBody,
    answer: open({
      valid: flag,
      /** protocol/trust-operations 5.3: why it cannot be published. `gate_id` where one gate is at fault. */
      issues: listOf(open({ code: text, message: text, gate_id: textOrNull }), 16_384),
      /** About a valid policy. */
      warnings: withDefault(arrayOf(open({ code: text, message: text }), { max: 64 }), []),
      policy_id: text,
      next_version: whole,
    }),
    idempotent: true,
    gateway: { operation: 'boundary_policy-validate-policy', group: 'boundary_policy', since: 'v0.58' },
  },
  simulate: {
    id: 'POST /admin/boundary-policies/simulate',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Simulate a boundary policy',
    purpose: 'Shows how requests would be decided with an active policy; nothing is signed or stored.',
    errors: [
      'boundary_policy_invalid',
      'context_too_large',
      'evidence_store_disabled',
      'invalid_boundary_policy',
      'invalid_context',
      'invalid_input',
      'invalid_page',
      'missing_policy',
      'missing_policy_id',
      'missing_validity_window',
    ],
    body: simulationBody,
    answer: simulation,
    idempotent: true,
    readLimit: 'large',
  },
  publish: {
    id: 'POST /admin/boundary-policies',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Publish a boundary policy',
    purpose: 'Signs the intent as the next version and stores it inactive.',
    errors: [
      'boundary_policy_invalid',
      'boundary_policy_version_conflict',
      'conflict',
      'invalid_boundary_policy',
      'missing_policy_id',
      'missing_validity_window',
    ],
    repeatable: true,
    body: intentBody,
    answer: policy,
    gateway: { operation: 'boundary_policy-publish-policy', group: 'boundary_policy', since: 'v0.58' },
  },
  activate: {
    id: 'POST /admin/boundary-policies/{policy_id}/activate',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Activate a boundary policy version',
    purpose: 'Makes one stored version the active one of its policy.',
    errors: [
      'boundary_policy_activation_conflict',
      'boundary_policy_activation_refused',
      'boundary_policy_integrity_failed',
      'boundary_policy_not_found',
      'invalid_policy_version',
    ],
    body: versionBody,
    /** `previous_version`: null when none was active; the same number when nothing changed. */
    answer: open({
      ...switched,
      previous_version: wholeOrNull,
      /** Budgets that count from zero. */
      warnings: optional(arrayOf(open({ code: text, message: text }), { max: 64 })),
    }),
    idempotent: true,
    gateway: { operation: 'boundary_policy-activate-policy', group: 'boundary_policy', since: 'v0.58' },
  },
  deactivate: {
    id: 'POST /admin/boundary-policies/{policy_id}/deactivate',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Deactivate a boundary policy version',
    purpose: 'Takes the active version of a policy out of force.',
    errors: ['boundary_policy_not_active', 'boundary_policy_not_found', 'invalid_policy_version'],
    body: versionBody,
    answer: open(switched),
    gateway: { operation: 'boundary_policy-deactivate-policy', group: 'boundary_policy', since: 'v0.58' },
  },
  list: {
    id: 'GET /admin/boundary-policies',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Boundary policy versions',
    purpose: 'Lists every stored version with its digest and integrity.',
    errors: ['invalid_page', 'unexpected_field'],
    query: pageQuery,
    /** By policy, newest version first. */
    answer: open({ policies: listOf(open(row)), ...paging }),
    gateway: { operation: 'boundary_policy-list-policies', group: 'boundary_policy', since: 'v0.58' },
  },
  active: {
    id: 'GET /admin/boundary-policies/active',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active boundary policies',
    purpose: 'Gives the active set, its health and the registered gate types.',
    answer: open({
      enforcement: text,
      /** While false, every evaluation with policies is denied. */
      policy_set_healthy: flag,
      problems: listOf(open({ policy: text, reason: text }), 100_000),
      registry_gate_types: texts,
      active: listOf(
        open({
          policy_id: text,
          version: whole,
          policy_digest: text,
          valid_from: textOrNull,
          valid_until: textOrNull,
          gate_count: wholeOrNull,
          selector: withDefault(nullable(shape.object), null),
          policy: policyOrNull,
        }),
        100_000,
      ),
    }),
    gateway: { operation: 'boundary_policy-active-policies', group: 'boundary_policy', since: 'v0.58' },
  },
  history: {
    id: 'GET /admin/boundary-policies/{policy_id}/history',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'History of a boundary policy',
    purpose: 'Gives all signed versions of one policy, newest first.',
    errors: ['boundary_policy_not_found', 'invalid_page', 'unexpected_field'],
    query: pageQuery,
    answer: open({ policy_id: text, versions: listOf(open({ ...row, policy: policyOrNull })), ...paging }),
    gateway: { operation: 'boundary_policy-policy-history', group: 'boundary_policy', since: 'v0.58' },
  },
  text: {
    id: 'GET /admin/boundary-policy-texts/{text_digest}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Text of a boundary policy',
    purpose: 'Gives a Cedar policy set or schema that policies name by its digest.',
    errors: ['boundary_policy_text_not_found'],
    answer: open({ text_digest: text, text }),
  },
  verify: {
    id: 'POST /boundary-policies/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a boundary policy',
    purpose: 'Verifies the signature of a boundary policy without storing anything.',
    errors: ['invalid_policy', 'invalid_public_keys', 'missing_policy'],
    body: openBody(
      'invalid_policy',
      {
        policy: required(recordOrText(storedRecord('boundary-policy'))),
        issuer_public_keys: optional(field.publicKeys),
      },
      { policy: { paste: '<boundary policy>' }, issuer_public_keys: ['<public key>'] },
    ),
    answer: open({ valid: flag, reason: text, policy_id: text, version: whole, policy_digest: text }),
    idempotent: true,
    records: { policy: 'invalid_policy' },
    gateway: { operation: 'boundary_policy-verify-policy', group: 'boundary_policy', since: 'v0.58' },
  },
} as const

/** Declarative signed policies for boundary decisions (protocol/trust-operations 5). */
export const boundaryPolicies: Routes<typeof facts> = routes(facts)

export type BoundaryPolicyValidation = AnswerOf<typeof boundaryPolicies.validate>
export type BoundaryPolicyIssue = BoundaryPolicyValidation['issues'][number]
/** Requests to simulate, and the part of the changed results to return. */
export type SimulationRequest = SentOf<typeof boundaryPolicies.simulate>
/** Compares decisions with a policy in force to current decisions. */
export type PolicySimulation = AnswerOf<typeof boundaryPolicies.simulate>
export type BoundaryPolicyPage = AnswerOf<typeof boundaryPolicies.list>
export type BoundaryPolicyRow = BoundaryPolicyPage['policies'][number]
export type ActiveBoundaryPolicies = AnswerOf<typeof boundaryPolicies.active>
export type BoundaryPolicyHistory = AnswerOf<typeof boundaryPolicies.history>
export type BoundaryPolicyVersion = BoundaryPolicyHistory['versions'][number]
export type PolicyDeactivation = AnswerOf<typeof boundaryPolicies.deactivate>
export type PolicyActivation = AnswerOf<typeof boundaryPolicies.activate>
export type PolicyText = AnswerOf<typeof boundaryPolicies.text>
export type BoundaryPolicyVerdict = AnswerOf<typeof boundaryPolicies.verify>
