import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /admin/audit',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Audit events',
    purpose: 'Lists redacted audit events with their numbers, by event, operator, named id, request or time.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: ['cursor', 'event', 'key_id', 'limit', 'order', 'request_id', 'since', 'subject', 'until'],
    answer: {
      count: 1,
      last_number: 1,
      complete: true,
      events: [{ number: 1, event_type: 'recognition_treaty_issued' }],
      next_cursor: '<cursor>',
    },
  },
} as const

/** What the authority recorded (protocol/core 26). */
export const audit: Routes<typeof facts> = routes(facts)
