import { type Routes, routes } from '../route.ts'

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
    gateway: { operation: 'admin-rollback-policy', group: 'administration' },
  },
} as const

/** The policy manifest of the network (protocol/core 10). */
export const policy: Routes<typeof facts> = routes(facts)
