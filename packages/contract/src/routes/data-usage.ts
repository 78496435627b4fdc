import { accessIntentForm, form, licensePolicyForm, readEvidenceStoreEntry, shape } from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import {
  count,
  flag,
  listOf,
  record,
  recordOrText,
  signedRecord,
  storedRecord,
  text,
  textOrNull,
  whole,
} from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, nullable, open, optional, required } = shape

const labels = listOf(shape.string, form.MAX_ITEMS)
const license = signedRecord('data-license-policy', licensePolicyForm)

/** Records of others are sent unchanged, because a member that this release does not know may be signed. */
const presented = openBody(
  'missing_verify_fields',
  {
    intent: required(recordOrText(storedRecord('data-access-intent'))),
    policy: required(recordOrText(storedRecord('data-license-policy'))),
    agent_public_keys: optional(arrayOf(shape.string, { max: 64 })),
    /** Keys of the licensor; without them only a policy of this authority is checked for its signature. */
    policy_public_keys: optional(arrayOf(shape.string, { max: 64 })),
  },
  { intent: { paste: '<data access intent>' }, policy: { paste: '<data license policy>' } },
)

const verdict = {
  valid: flag,
  violation_reason: textOrNull,
  violation_count: whole,
  violations: listOf(
    open({
      violation_id: text,
      intent_id: text,
      record_id: textOrNull,
      agent_sovereign_id: text,
      violation_type: text,
      detail: text,
      detected_at: text,
    }),
    10_000,
  ),
}

const facts = {
  publish: {
    id: 'POST /admin/data-usage/policy',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Publish a data license policy',
    purpose: 'Signs a data license policy and puts it in force for its licensee.',
    errors: [
      'conflict',
      'invalid_timestamp_order',
      'invalid_timestamps',
      'missing_policy_fields',
      'policy_sign_failed',
    ],
    repeatable: true,
    body: openBody(
      'missing_policy_fields',
      {
        licensee_sovereign_id: text,
        /** Empty: nothing is licensed. */
        allowed_source_ids: labels,
        /** Empty: only read. */
        allowed_access_types: labels,
        max_volume_bytes_per_session: optional(nullable(count)),
        prohibited_classification_tags: optional(labels.read),
        valid_from: text,
        valid_until: text,
      },
      {
        licensee_sovereign_id: '<sovereign id>',
        allowed_source_ids: ['<source id>'],
        allowed_access_types: ['read'],
        max_volume_bytes_per_session: 1048576,
        prohibited_classification_tags: [],
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2027-01-01T00:00:00Z',
      },
    ),
    answer: license,
    gateway: { operation: 'data_usage-create-policy', group: 'data_usage' },
  },
  intent: {
    id: 'POST /admin/data-usage/intent',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Declare a data access intent',
    purpose: 'Signs which sources will be used and how.',
    errors: ['conflict', 'intent_create_failed', 'invalid_source', 'missing_intent_fields'],
    repeatable: true,
    body: openBody(
      'missing_intent_fields',
      {
        sources: listOf(
          open({
            source_id: text,
            source_type: text,
            owner_sovereign_id: text,
            classification_tags: optional(labels.read),
          }),
          form.MAX_ITEMS,
        ),
        access_types: labels,
        /** The authority chooses one when it is left out. */
        decision_id: optional(shape.string),
        estimated_volume_bytes: optional(nullable(count)),
      },
      {
        sources: [
          {
            source_id: '<source id>',
            source_type: 'table',
            owner_sovereign_id: '<sovereign id>',
            classification_tags: [],
          },
        ],
        access_types: ['read'],
        estimated_volume_bytes: 1024,
      },
    ),
    answer: signedRecord('data-access-intent', accessIntentForm),
    gateway: { operation: 'data_usage-create-intent', group: 'data_usage' },
  },
  current: {
    id: 'GET /data-usage/policy',
    access: 'public',
    limit: 'read',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Data license policy in force',
    purpose: 'Gives the data license policy in force for a licensee, or without a filter the newest.',
    errors: ['invalid_input', 'no_policy', 'unexpected_field'],
    // The gateway forwards no filter: it is beta.
    query: { licensee_sovereign_id: shape.string },
    answer: license,
    gateway: { operation: 'data_usage-get-policy', group: 'data_usage' },
  },
  // 200 when there is no violation, and nothing is stored.
  record: {
    id: 'POST /admin/data-usage/violations',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Verify a data access intent and record violations',
    purpose: 'Verifies an intent against a data license policy and stores violations in the evidence store.',
    errors: [
      'conflict',
      'daily_bytes_exceeded',
      'disk_space_low',
      'evidence_store_disabled',
      'evidence_store_unavailable',
      'invalid_input',
      'invalid_public_keys',
      'missing_verify_fields',
    ],
    repeatable: true,
    body: presented,
    /** Without a violation nothing is stored, and entry and digest are null. */
    answer: open({
      ...verdict,
      entry: required(nullable(record('evidence-store-entry', readEvidenceStoreEntry))),
      entry_digest: textOrNull,
    }),
    records: { intent: 'invalid_input', policy: 'invalid_input' },
  },
  verify: {
    id: 'POST /data-usage/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a data access intent',
    purpose: 'Verifies an intent against a data license policy without storing anything.',
    errors: ['invalid_input', 'invalid_public_keys', 'missing_verify_fields'],
    body: presented,
    answer: open(verdict),
    idempotent: true,
    records: { intent: 'invalid_input', policy: 'invalid_input' },
    gateway: { operation: 'data_usage-verify', group: 'data_usage' },
  },
} as const

/** Data licenses and declared use (protocol/trust-operations 9). */
export const dataUsage: Routes<typeof facts> = routes(facts)

/** protocol/trust-operations 9.1; absent members get the defaults of the authority. */
export type LicenseRequest = SentOf<typeof dataUsage.publish>
export type IntentRequest = SentOf<typeof dataUsage.intent>
export type UsageRequest = SentOf<typeof dataUsage.verify>
/** protocol/trust-operations 9.3: a violation is a verdict, not an error. */
export type UsageVerdict = AnswerOf<typeof dataUsage.verify>
export type UsageViolation = UsageVerdict['violations'][number]
export type RecordedUsage = AnswerOf<typeof dataUsage.record>
