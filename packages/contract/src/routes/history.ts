import { type Routes, routes } from '../route.ts'

const facts = {
  trusted: {
    id: 'GET /admin/history/trusted',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Was it trusted then?',
    purpose: 'Returns the state of a certificate, attestation or treaty at a past time, with signed proof.',
    errors: ['invalid_input', 'invalid_timestamps', 'unexpected_field'],
    query: ['at', 'id', 'issuer_sovereign_id', 'kind'],
    answer: {
      state: 'trusted',
      reason: 'in_force',
      kind: 'certificate',
      id: '<certificate id>',
      at: '<timestamp>',
      ended_at: null,
      end_reason: null,
      source: null,
      treaty_id: null,
      notes: [],
      proof: [{}],
      page: {},
    },
  },
  archive: {
    id: 'GET /admin/history/archive',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One page of the trust history',
    purpose: 'Returns a signed page of what is stored about records of one kind, for an archive.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: ['cursor', 'kind', 'limit'],
    answer: { count: 1, page: {}, next_cursor: '<cursor>' },
  },
} as const

/** Past states, from stored history (protocol/trust-history). */
export const history: Routes<typeof facts> = routes(facts)
