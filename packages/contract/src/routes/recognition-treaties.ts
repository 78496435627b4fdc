import { EXPIRY_RISKS, LIFECYCLE_STATES, STANDINGS, readRecognitionTreaty, shape } from '@chancery/protocol'
import { type AnswerOf, type PreviewOf, type QueryOf, type SentOf, body, openBody } from '../form.ts'
import {
  flag,
  isDryRun,
  listOf,
  pageQuery,
  paging,
  record,
  recordOrText,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, integer, nullable, oneOf, open, optional, required, withDefault } = shape

const treaty = record('recognition-treaty', readRecognitionTreaty)
const state = oneOf(...LIFECYCLE_STATES)

/** The unchanged signed record and its state. */
const row = open({
  treaty: required(treaty),
  status: text,
  revoked_at: textOrNull,
  revocation_reason: textOrNull,
  lifecycle: required(
    open({
      state: required(state),
      expiry_risk: required(oneOf(...EXPIRY_RISKS)),
      seconds_until_expiry: wholeOrNull,
      expires_at: text,
      revoked_at: textOrNull,
      revocation_reason: textOrNull,
      replacement_treaty_id: textOrNull,
    }),
  ),
})

const keys = arrayOf(shape.string, { max: 16 })
const terms = {
  scope: optional(
    open({
      /** Left out or empty: no role is accepted. */
      allowed_roles: optional(arrayOf(shape.string, { max: 64 })),
      accepted_statuses: optional(arrayOf(oneOf(...STANDINGS), { max: 8 })),
      claims: optional(shape.object),
    }),
  ),
  validity_hours: optional(integer(1, Number.MAX_SAFE_INTEGER)),
  metadata: optional(shape.object),
}

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
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    // The gateway forwards the names of the first release; the others are beta.
    query: {
      ...pageQuery,
      issuer_sovereign_id: shape.string,
      lifecycle: state,
      /** First characters of the subject. */
      q: shape.string,
      /** By time of issue when absent. */
      sort: oneOf('issued_at', 'expires_at'),
      status: shape.string,
      subject_sovereign_id: shape.string,
    },
    /** By time of issue. */
    answer: open({ count: whole, recognition_treaties: listOf(row), ...paging }),
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
    errors: ['treaty_not_found'],
    answer: row,
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
    errors: [
      'conflict',
      'empty_subject_public_keys',
      'evidence_store_required',
      'invalid_input',
      'invalid_public_keys',
      'invalid_recognition_treaty',
      'invalid_role',
      'invalid_treaty_scope',
      'invalid_validity_hours',
      'missing_treaty_subject',
      'wrong_issuer',
    ],
    repeatable: true,
    body: body(
      'invalid_input',
      {
        subject_sovereign_id: text,
        subject_public_keys: required(keys),
        issuer_sovereign_id: optional(shape.string),
        ...terms,
      },
      {
        subject_sovereign_id: '<sovereign id>',
        subject_public_keys: ['<public key>'],
        scope: { allowed_roles: ['role:client'] },
        validity_hours: 168,
      },
    ),
    answer: treaty,
    gateway: { operation: 'treaties-issue-treaty', group: 'treaties' },
  },
  renew: {
    id: 'POST /admin/recognition-treaties/{treaty_id}/renew',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Renew a recognition treaty',
    purpose: 'Signs the next treaty and ends the old one in one transaction.',
    errors: [
      'conflict',
      'empty_subject_public_keys',
      'evidence_store_required',
      'invalid_input',
      'invalid_public_keys',
      'invalid_role',
      'invalid_treaty_scope',
      'invalid_validity_hours',
      'missing_treaty_subject',
      'treaty_ended',
      'treaty_not_found',
    ],
    repeatable: true,
    body: body('invalid_input', { subject_public_keys: optional(keys), ...terms }, { validity_hours: 168 }),
    answer: open({
      treaty: required(treaty),
      /** What became of the old one. */
      previous: required(open({ treaty_id: text, status: text, revocation_reason: text })),
    }),
  },
  revoke: {
    id: 'POST /admin/recognition-treaties/{treaty_id}/revoke',
    access: 'operator:privileged',
    dryRun: 'operator:standard',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke a recognition treaty',
    purpose: 'Ends the recognition of another sovereign.',
    errors: ['invalid_input', 'treaty_not_found'],
    body: body(
      'invalid_input',
      { reason: optional(shape.string), dry_run: optional(shape.boolean) },
      { reason: 'cessation_of_operation' },
    ),
    answer: open({ treaty_id: text, status: text }),
    preview: open({
      dry_run: isDryRun,
      treaty_id: text,
      status: text,
      would_change: flag,
      paths_lost: required(
        open({
          /** A lower bound when `complete` is false. */
          count: whole,
          complete: flag,
          sample: listOf(open({ from: text, to: text })),
          /** No other active treaty connects the two parties directly. */
          direct_recognition_lost: flag,
        }),
      ),
      attestations_no_longer_accepted: required(open({ issuer_sovereign_id: text, all: flag })),
    }),
    /** A repeat does not change the first time and reason. */
    idempotent: true,
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
    errors: ['caller_keys_not_accepted', 'invalid_public_keys', 'invalid_recognition_treaty'],
    body: openBody(
      'invalid_recognition_treaty',
      {
        treaty: required(recordOrText(treaty)),
        issuer_public_keys: optional(nullable(keys)),
        expected_issuer_sovereign_id: optional(shape.string),
        expected_subject_sovereign_id: optional(shape.string),
      },
      { treaty: { paste: '<recognition treaty>' }, issuer_public_keys: ['<public key>'] },
    ),
    answer: open({
      accepted: flag,
      reason: text,
      trust_basis: text,
      /**
       * True when the authority itself accepts it, by its own treaty. False when the caller chose the keys. Check this
       * member unless you chose the keys. False for an older authority that does not report it.
       */
      counts_here: withDefault(shape.boolean, false),
      treaty_id: text,
      issuer_sovereign_id: text,
      subject_sovereign_id: text,
    }),
    idempotent: true,
    bodyLimit: 'small',
    records: { treaty: 'invalid_recognition_treaty' },
    gateway: { operation: 'treaties-verify-treaty', group: 'treaties' },
  },
} as const

/** Direct recognition of another sovereign (protocol/core 15, 17.2). */
export const recognitionTreaties: Routes<typeof facts> = routes(facts)

/** Absent members get the defaults of the authority (protocol/core 15.2). */
export type TreatyRequest = SentOf<typeof recognitionTreaties.issue>
export type TreatyRow = AnswerOf<typeof recognitionTreaties.find>
export type TreatyPage = AnswerOf<typeof recognitionTreaties.list>
export type TreatyFilter = Omit<QueryOf<typeof recognitionTreaties.list>, keyof typeof pageQuery>
export type TreatyPreview = PreviewOf<typeof recognitionTreaties.revoke>
/** A negative result is a verdict, not an error. It does not cover members of the subject (protocol/core 17.2). */
export type TreatyVerdict = AnswerOf<typeof recognitionTreaties.verify>
/** The new treaty, and what became of the old one. */
export type RenewedTreaty = AnswerOf<typeof recognitionTreaties.renew>
