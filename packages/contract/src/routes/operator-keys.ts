import { type Routes, routes } from '../route.ts'

const facts = {
  revoke: {
    id: 'POST /admin/operator-keys/{key_id}/revoke',
    access: 'operator:privileged',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke an operator key',
    purpose: 'Ends an operator key for good, unless it is the last usable one.',
    errors: ['invalid_input', 'last_active_operator_key', 'unknown_operator_key'],
    body: {
      example: { reason: 'cessation_of_operation' },
      optional: ['reason'],
      more: { force: false, dry_run: false, withdraw_invites: false },
      closed: true,
    },
    gateway: { operation: 'admin-revoke-operator-key', group: 'administration' },
  },
  activity: {
    id: 'GET /admin/operator-keys/{key_id}/activity',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'What an operator key did',
    purpose: 'Counts the audit events of an operator key by type over a time, and its invites that can still be used.',
    errors: ['invalid_input', 'unknown_operator_key'],
    query: ['days'],
  },
} as const

/** Operator keys are configured at start; over HTTP they can only be revoked (protocol/core 12). */
export const operatorKeys: Routes<typeof facts> = routes(facts)
