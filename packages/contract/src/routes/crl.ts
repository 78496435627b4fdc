import { REVOCATION_REASONS } from '@chancery/protocol'
import { type BodyFacts, type Routes, routes } from '../route.ts'

const facts = {
  current: {
    id: 'GET /crl',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Certificate revocation list',
    purpose: 'Gives the active signed list of revoked certificates.',
    errors: ['crl_publish_contention'],
    answer: 'crl',
    gateway: { operation: 'crl-get-crl', group: 'network' },
  },
  keys: {
    id: 'GET /crl/keys/{key_id}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Revocation list of one key',
    purpose: 'Gives the signed list of the current key, or of a former key while its certificates are in use.',
    errors: ['crl_publish_contention', 'key_list_not_found'],
    // Key ids may hold slashes.
    tail: true,
  },
  delta: {
    id: 'GET /crl/delta',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Change of the revocation list',
    purpose:
      'Gives what was added and removed since the list with the sequence `from`, with the members of the current list, whose signature the reader verifies.',
    errors: ['crl_delta_not_found', 'crl_publish_contention', 'invalid_input'],
  },
  version: {
    id: 'GET /crl/{sequence}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Revocation list by sequence',
    purpose: 'Gives one signed version of the list, at an address whose content never changes.',
    errors: ['crl_publish_contention', 'crl_version_not_found'],
    answer: 'crl',
  },
  // Nodes get 403 for an unknown certificate, an operator who names one gets 404 (protocol/core 23).
  revoke: {
    id: 'POST /admin/revoke',
    access: 'operator:privileged',
    dryRun: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke certificates',
    purpose:
      'Revokes one certificate or a list of them with every other certificate of the same node keys, unless only_this is true, and publishes the next revocation list.',
    errors: [
      'certificate_key_mismatch',
      'certificate_not_found',
      'crl_publish_contention',
      'invalid_input',
      'invalid_public_key',
      'invalid_revocation_reason',
      'missing_cert_id',
    ],
    repeatable: true,
    body: {
      example: { cert_id: '<certificate id>', reason: 'key_compromise' },
      optional: ['cert_id', 'reason'],
      more: {
        cert_ids: ['<certificate id>'],
        certificates: [{ paste: '<join certificate>' }],
        node_public_key: '<public key>',
        only_this: false,
        all_of_key: true,
        dry_run: false,
      },
      choices: { reason: REVOCATION_REASONS },
      closed: true,
    } as BodyFacts,
    statuses: { certificate_not_found: 404 },
    gateway: { operation: 'admin-revoke-certificate', group: 'administration' },
  },
} as const

/** Certificate revocation (protocol/core 9). */
export const crl: Routes<typeof facts> = routes(facts)
