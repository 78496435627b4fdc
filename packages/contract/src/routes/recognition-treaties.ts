import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /recognition-treaties',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Recognition treaties',
    purpose: 'Lists the stored treaties with their lifecycle.',
    gateway: {
      operation: 'treaties-list-treaties',
      group: 'treaties',
      query: ['issuer_sovereign_id', 'limit', 'offset', 'status', 'subject_sovereign_id'],
    },
  },
  find: {
    id: 'GET /recognition-treaties/{treaty_id}',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'One recognition treaty',
    purpose: 'Gives one treaty with its status and lifecycle.',
    gateway: { operation: 'treaties-get-treaty', group: 'treaties' },
  },
  issue: {
    id: 'POST /admin/recognition-treaties',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Issue a recognition treaty',
    purpose: 'Signs that the members of another sovereign are recognised within a scope.',
    gateway: { operation: 'treaties-issue-treaty', group: 'treaties' },
  },
  revoke: {
    id: 'POST /admin/recognition-treaties/{treaty_id}/revoke',
    access: 'operator:privileged',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke a recognition treaty',
    purpose: 'Ends the recognition of another sovereign.',
    gateway: { operation: 'treaties-revoke-treaty', group: 'treaties' },
  },
  verify: {
    id: 'POST /recognition-treaties/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a recognition treaty',
    purpose: 'Verifies a treaty without storing anything.',
    bodyLimit: 'small',
    records: { treaty: 'invalid_recognition_treaty' },
    gateway: { operation: 'treaties-verify-treaty', group: 'treaties' },
  },
} as const

/** Direct recognition of another sovereign (protocol/core 15, 17.2). */
export const recognitionTreaties: Routes<typeof facts> = routes(facts)
