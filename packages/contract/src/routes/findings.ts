import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /admin/findings',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'What needs attention',
    purpose: 'Lists the findings of doctor that a running authority can check, and which first steps were done.',
    errors: ['unexpected_field'],
    query: [],
    answer: {
      checked_at: '2026-01-01T00:00:00Z',
      count: 1,
      findings: [
        {
          check: 'treaty',
          status: 'warn',
          found: 'The treaty with <network name> ends 2026-01-02T00:00:00Z',
          fix: '<what to do>',
          effect: '<what happens>',
          about: '<network name>',
          at: '2026-01-02T00:00:00Z',
        },
      ],
      passed: ['ready', 'crl'],
      not_checked: ['disk-space'],
      first_steps: {
        invite_made: true,
        node_joined: true,
        policy_active: false,
        partner_added: true,
        usable_operator_keys: 2,
        backup_at: null,
      },
    },
  },
} as const

/** What needs attention, for operators and the console. */
export const findings: Routes<typeof facts> = routes(facts)
