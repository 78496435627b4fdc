import { type Routes, routes } from '../route.ts'

const facts = {
  checkpoint: {
    id: 'GET /evidence-log/checkpoint',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'note',
    summary: 'Checkpoint of the evidence log',
    purpose: 'Returns size and root of the log as a signed note that anyone can store.',
    errors: ['evidence_store_disabled', 'not_found'],
  },
  tile: {
    id: 'GET /evidence-log/tile/{tile}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'tile',
    summary: 'Hash tile of the evidence log',
    purpose: 'Gives hashes from which inclusion and consistency proofs are computed.',
    errors: ['evidence_store_disabled', 'not_found'],
    tail: true,
  },
  // Envelopes name members, so they are for operators only; the hashes above reveal nothing.
  entries: {
    id: 'GET /admin/evidence-log/entries/{tile}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'tile',
    summary: 'Entry bundle of the evidence log',
    purpose: 'Gives the envelopes of the hashes of a tile while they are stored.',
    errors: ['evidence_store_disabled', 'not_found'],
    tail: true,
  },
} as const

/** The evidence store as a transparency log; disabled with the store (protocol/trust-operations 6.13). */
export const evidenceLog: Routes<typeof facts> = routes(facts)
