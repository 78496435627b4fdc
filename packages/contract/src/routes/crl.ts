import { REVOCATION_REASONS, type ReadBy, field, readCrl, readJoinCertificate, shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type SentOf, body } from '../form.ts'
import { count, countedSample, flag, isDryRun, record, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, oneOf, open, optional, required, withDefault } = shape

const list = record('crl', readCrl)
const anySample = withDefault<ReadBy<typeof countedSample>>(countedSample, { count: 0, sample: [] })

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
    answer: list,
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
    answer: list,
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
    query: { from: count, issuer: shape.string },
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
    answer: list,
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
    body: body(
      'invalid_input',
      {
        cert_id: optional(shape.string),
        /** Up to 1000 in one version of the list; an unknown id among them changes nothing. */
        cert_ids: optional(arrayOf(shape.string, { min: 1, max: 1000, distinct: true })),
        /** In place of ids: certificates that a restored database lacks. */
        certificates: optional(arrayOf(record('join-certificate', readJoinCertificate), { min: 1, max: 100 })),
        /** The key of the one certificate, in case a restored database lacks it. */
        node_public_key: optional(field.publicKey),
        reason: optional(oneOf(...REVOCATION_REASONS)),
        /** Keeps the other valid certificates of the same node keys, with which the node can go on. Not with key_compromise. */
        only_this: optional(shape.boolean),
        all_of_key: optional(shape.boolean),
        dry_run: optional(shape.boolean),
      },
      { cert_id: '<certificate id>', reason: 'key_compromise' },
    ),
    answer: open({
      crl_sequence: whole,
      /** Entries of the current list, not of this request. */
      revoked_count: whole,
      /** Other certificates of the same node keys that this request revoked. */
      also_revoked: anySample,
      /** Certificates of the same node keys that are still valid. Always there for all_of_key. */
      other_certificates: optional(countedSample),
      /** Admission rules in force that admitted these node keys: a workload with evidence can join with a new key. */
      admission_rules: optional(arrayOf(shape.string, { max: 1000 })),
    }),
    preview: open({
      dry_run: isDryRun,
      would_change: flag,
      /** Without `only_this` also the other certificates of the node keys. */
      certificates_revoked: required(countedSample),
      /** Certificates of the same node keys that would stay valid. */
      other_certificates: anySample,
      /** Revoked before; only their reason would become key_compromise. */
      reasons_raised: anySample,
      /** Agents that would be removed from the registry, by node key. */
      agents_dropped: required(countedSample),
    }),
    idempotent: true,
    statuses: { certificate_not_found: 404 },
    gateway: { operation: 'admin-revoke-certificate', group: 'administration' },
  },
} as const

/** Certificate revocation (protocol/core 9). */
export const crl: Routes<typeof facts> = routes(facts)

export type RevocationAnswer = AnswerOf<typeof crl.revoke>
export type RevocationPreview = PreviewOf<typeof crl.revoke>
export type RevocationTerms = Pick<SentOf<typeof crl.revoke>, 'reason' | 'only_this'>
