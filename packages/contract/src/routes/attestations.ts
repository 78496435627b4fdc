import { readAttestation, readRecognitionTreaty, shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type QueryOf, type SentOf, body, openBody } from '../form.ts'
import {
  countedSample,
  flag,
  isDryRun,
  pageQuery,
  paging,
  record,
  recordOrText,
  text,
  textOrNull,
  whole,
} from '../members.ts'
import { LIMITS } from '../limits.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, integer, nullable, open, optional, required, withDefault } = shape

const attestation = record('membership-attestation', readAttestation)

/** The unchanged signed record and its state. */
const row = open({
  attestation: required(attestation),
  status: text,
  revoked_at: textOrNull,
  revocation_reason: textOrNull,
})

const verdict = { accepted: flag, reason: text, issuer_sovereign_id: text, attestation_id: text }

const facts = {
  // A network that keeps membership confidential shows anonymous callers the count only (protocol/core 14.3).
  list: {
    id: 'GET /attestations',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Issued attestations',
    purpose: 'Lists the membership attestations this authority issued.',
    errors: ['invalid_page', 'unexpected_field'],
    query: {
      ...pageQuery,
      issuer_sovereign_id: shape.string,
      published: shape.string,
      status: shape.string,
      subject_id: shape.string,
    },
    /** By time of issue; rows are absent where the network shows unauthenticated callers only the count. */
    answer: open({ count: whole, attestations: optional(arrayOf(row, { max: LIMITS.listPageRows })), ...paging }),
    gateway: {
      operation: 'attestations-list-attestations',
      group: 'attestations',
      query: ['issuer_sovereign_id', 'limit', 'offset', 'status', 'subject_id'],
    },
  },
  find: {
    id: 'GET /attestations/{attestation_id}',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'One attestation',
    purpose: 'Gives one attestation with its stored status; to operators only where the membership is confidential.',
    errors: ['attestation_not_found'],
    answer: row,
    gateway: { operation: 'attestations-get-attestation', group: 'attestations' },
  },
  issue: {
    id: 'POST /admin/attestations',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Issue an attestation',
    purpose: 'Signs that a subject is a member with the given roles.',
    errors: [
      'attestation_issuer_mismatch',
      'conflict',
      'invalid_input',
      'invalid_public_key',
      'invalid_role',
      'invalid_validity_hours',
      'missing_attestation_subject',
    ],
    repeatable: true,
    body: body(
      'invalid_input',
      {
        subject_id: text,
        roles: required(arrayOf(shape.string, { max: 64 })),
        validity_hours: optional(integer(1, Number.MAX_SAFE_INTEGER)),
        issuer_sovereign_id: optional(shape.string),
        subject_public_key: optional(nullable(shape.string)),
        claims: optional(nullable(shape.object)),
      },
      { subject_id: '<subject id>', roles: ['role:client'], validity_hours: 24 },
    ),
    answer: attestation,
    gateway: { operation: 'attestations-issue-attestation', group: 'attestations' },
  },
  revoke: {
    id: 'POST /admin/attestations/{attestation_id}/revoke',
    access: 'operator:privileged',
    dryRun: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke an attestation',
    purpose: 'Revokes an attestation and adds it to the sovereign revocation feed.',
    errors: ['attestation_not_found', 'invalid_input', 'revocation_feed_full'],
    body: body(
      'invalid_input',
      { reason: optional(shape.string), dry_run: optional(shape.boolean) },
      { reason: 'cessation_of_operation' },
    ),
    answer: open({ attestation_id: text, status: text }),
    preview: open({
      dry_run: isDryRun,
      attestation_id: text,
      status: text,
      would_change: flag,
      attestations_no_longer_accepted: required(countedSample),
      /** Networks that accept members of this network today and read its feed. */
      accepting_sovereigns: required(countedSample),
    }),
    /** A repeat does not change the first time and reason. */
    idempotent: true,
    gateway: { operation: 'attestations-revoke-attestation', group: 'attestations' },
  },
  verify: {
    id: 'POST /attestations/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an attestation',
    purpose: 'Verifies an attestation under a recognition policy without storing anything.',
    errors: ['invalid_attestation_or_policy', 'missing_recognition_policy'],
    body: openBody(
      'invalid_attestation_or_policy',
      { attestation: required(recordOrText(attestation)), recognition_policy: optional(nullable(shape.object)) },
      {
        attestation: { paste: '<membership attestation>' },
        recognition_policy: { paste: '<recognition policy>' },
      },
    ),
    answer: open(verdict),
    idempotent: true,
    records: { attestation: 'invalid_attestation_or_policy' },
    gateway: { operation: 'attestations-verify-attestation', group: 'attestations' },
  },
  verifyWithTreaty: {
    id: 'POST /attestations/verify-with-treaty',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an attestation with a treaty',
    purpose:
      'Verifies an attestation of a partner network with one direct treaty: a treaty of this authority, or one under keys of the caller.',
    errors: ['caller_keys_not_accepted', 'invalid_attestation_or_treaty', 'invalid_public_keys'],
    body: openBody(
      'invalid_attestation_or_treaty',
      {
        attestation: required(recordOrText(attestation)),
        treaty: required(recordOrText(record('recognition-treaty', readRecognitionTreaty))),
        issuer_public_keys: optional(nullable(arrayOf(shape.string, { max: 16 }))),
        treaty_issuer_public_keys: optional(nullable(arrayOf(shape.string, { max: 16 }))),
      },
      {
        attestation: { paste: '<membership attestation>' },
        treaty: { paste: '<recognition treaty>' },
        issuer_public_keys: ['<public key>'],
      },
    ),
    answer: open({
      ...verdict,
      trust_basis: text,
      /**
       * True when the authority itself accepts it, by its own treaty. False when the caller chose the keys. Check this
       * member unless you chose the keys. False for an older authority that does not report it.
       */
      counts_here: withDefault(shape.boolean, false),
      treaty_id: text,
      subject_sovereign_id: text,
    }),
    idempotent: true,
    records: { attestation: 'invalid_attestation_or_treaty', treaty: 'invalid_attestation_or_treaty' },
    gateway: { operation: 'treaties-verify-attestation-with-treaty-route', group: 'treaties' },
  },
} as const

/** Portable membership evidence (protocol/core 14, 17). */
export const attestations: Routes<typeof facts> = routes(facts)

/** Absent members get the defaults of the authority (protocol/core 14.2). */
export type AttestationRequest = SentOf<typeof attestations.issue>
export type AttestationRow = AnswerOf<typeof attestations.find>
export type AttestationPage = AnswerOf<typeof attestations.list>
export type AttestationFilter = Omit<QueryOf<typeof attestations.list>, keyof typeof pageQuery>
export type AttestationPreview = PreviewOf<typeof attestations.revoke>
/** A negative result is a verdict, not an error (protocol/core 17.1). */
export type AttestationVerdict = AnswerOf<typeof attestations.verify>
export type TreatyAttestationVerdict = AnswerOf<typeof attestations.verifyWithTreaty>
