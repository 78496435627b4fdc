import { policyRequest, readPolicyManifest, shape } from '@chancery/protocol'
import { type AnswerOf, body } from '../form.ts'
import { flag, listOf, pageQuery, paging, record, text } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const ignored = shape.optional(shape.any)
const manifest = record('policy-manifest', readPolicyManifest)

const facts = {
  current: {
    id: 'GET /policy',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active policy manifest',
    purpose: 'Gives the active signed policy manifest, creating the default one when there is none.',
    answer: manifest,
    gateway: { operation: 'public-get-policy', group: 'network' },
  },
  history: {
    id: 'GET /admin/policy/history',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Policy versions',
    purpose: 'Lists the stored policy versions, newest first.',
    errors: ['invalid_page', 'unexpected_field'],
    query: pageQuery,
    answer: shape.open({
      /** Newest first. */
      versions: listOf(
        shape.open({ policy_id: text, active: flag, created_at: text, policy: shape.required(manifest) }),
      ),
      ...paging,
    }),
    gateway: { operation: 'admin-policy-history', group: 'administration', query: ['limit', 'offset'] },
  },
  // 200 when the same content is already stored under this policy_id.
  publish: {
    id: 'POST /admin/policy',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Publish a policy',
    purpose: 'Signs the submitted policy and makes it the active one.',
    errors: ['conflict', 'invalid_policy'],
    repeatable: true,
    body: body(
      'invalid_policy',
      {
        ...policyRequest,
        /** These three may be sent back, and the authority sets them. Signatures must verify (protocol/core 10.2). */
        issued_at: ignored,
        issued_by: ignored,
        signatures: ignored,
      },
      { min_client_version: '0.1.0', allowed_ports: [443, 8443], allowed_services: [], routing: {} },
    ),
    answer: manifest,
    gateway: { operation: 'admin-publish-policy', group: 'administration' },
  },
  rollback: {
    id: 'POST /admin/policy/rollback',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Return to an earlier policy',
    purpose: 'Makes a stored policy version the active one again.',
    errors: ['conflict', 'missing_policy_id', 'policy_not_found'],
    body: body('missing_policy_id', { policy_id: text }, { policy_id: '<policy id>' }),
    answer: manifest,
    idempotent: true,
    gateway: { operation: 'admin-rollback-policy', group: 'administration' },
  },
} as const

/** The policy manifest of the network (protocol/core 10). */
export const policy: Routes<typeof facts> = routes(facts)

export type PolicyHistory = AnswerOf<typeof policy.history>
export type PolicyVersion = PolicyHistory['versions'][number]
