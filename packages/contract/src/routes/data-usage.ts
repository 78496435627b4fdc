import { type Routes, routes } from '../route.ts'

const facts = {
  publish: {
    id: 'POST /admin/data-usage/policy',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Publish a data license policy',
    purpose: 'Signs a data license policy and makes it the active one.',
    gateway: { operation: 'data_usage-create-policy', group: 'data_usage' },
  },
  intent: {
    id: 'POST /admin/data-usage/intent',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Declare a data access intent',
    purpose: 'Signs which sources will be used and how.',
    gateway: { operation: 'data_usage-create-intent', group: 'data_usage' },
  },
  current: {
    id: 'GET /data-usage/policy',
    access: 'public',
    limit: 'read',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Active data license policy',
    purpose: 'Gives the active data license policy.',
    gateway: { operation: 'data_usage-get-policy', group: 'data_usage' },
  },
  verify: {
    id: 'POST /data-usage/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a data access intent',
    purpose: 'Verifies an intent against a data license policy without storing anything.',
    records: { intent: 'invalid_input', policy: 'invalid_input' },
    gateway: { operation: 'data_usage-verify', group: 'data_usage' },
  },
} as const

/** Data licenses and declared use (protocol/trust-operations 9). */
export const dataUsage: Routes<typeof facts> = routes(facts)
