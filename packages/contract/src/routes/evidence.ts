import { shape } from '@chancery/protocol'
import { type AnswerOf, type QueryOf, type SentOf, openBody } from '../form.ts'
import { count, cursorQuery, recordOrText, storedRecord, text, whole } from '../members.ts'
import { LIMITS } from '../limits.ts'
import { type Routes, routes } from '../route.ts'
import {
  decisionCounts,
  decisionPage,
  history,
  newestPage,
  oldestPage,
  position,
  recorded,
  rejectionPage,
} from './evidence-answers.ts'
import { upkeepFacts } from './evidence-upkeep.ts'

const { anyOf, integer, oneOf, open, optional, required } = shape

const limit = integer(1, LIMITS.listPageRows)

const facts = {
  // 200 when the identical record is already stored.
  execution: {
    id: 'POST /evidence/execution',
    access: 'executor',
    limit: 'evidence',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Submit execution evidence',
    purpose: 'Records what an executor did on the strength of an allowed decision.',
    errors: [
      'daily_bytes_exceeded',
      'disk_space_low',
      'evidence_capability_mismatch',
      'evidence_chain_gap',
      'evidence_chain_mismatch',
      'evidence_conflict',
      'evidence_decision_denied',
      'evidence_decision_mismatch',
      'evidence_decision_not_found',
      'evidence_invalid_signature',
      'evidence_malformed',
      'evidence_outside_decision_window',
      'evidence_secret_material',
      'evidence_store_disabled',
      'evidence_store_unavailable',
      'evidence_unknown_executor',
      'invalid_evidence',
      'resource_chain_gap',
      'resource_chain_mismatch',
    ],
    body: openBody(
      'invalid_evidence',
      { evidence: required(recordOrText(storedRecord('execution-evidence'))) },
      { evidence: { paste: '<execution evidence>' } },
    ),
    answer: recorded,
    /** The same record is then a duplicate. */
    idempotent: true,
    records: { evidence: 'invalid_evidence' },
    gateway: { operation: 'evidence_store-submit-execution', group: 'evidence_store', since: 'v0.59' },
  },
  search: {
    id: 'GET /admin/evidence',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Search the evidence store',
    purpose: 'Finds decisions and evidence by vendor, attestation, capability, resource, outcome or time.',
    errors: ['evidence_store_disabled', 'invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    // The gateway forwards the names of the first release; the others are beta.
    query: {
      after_sequence: count,
      attestation_id: shape.string,
      before_sequence: position,
      capability: shape.string,
      decision_id: shape.string,
      entry_kind: shape.string,
      /** The first gate that did not pass. */
      failed_gate: shape.string,
      group: oneOf('decision'),
      limit,
      order: oneOf('oldest', 'newest'),
      outcome: shape.string,
      requester_sovereign_id: shape.string,
      resource_id: shape.string,
      since: shape.string,
      until: shape.string,
      vendor_id: shape.string,
    },
    answer: anyOf(oldestPage, anyOf(newestPage, decisionPage)),
    gateway: {
      operation: 'evidence_store-search',
      group: 'evidence_store',
      query: [
        'after_sequence',
        'attestation_id',
        'capability',
        'decision_id',
        'entry_kind',
        'limit',
        'outcome',
        'resource_id',
        'since',
        'until',
        'vendor_id',
      ],
      since: 'v0.59',
    },
  },
  counts: {
    id: 'GET /admin/evidence/counts',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Count decisions',
    purpose: 'Counts stored decisions by hour, in total or by outcome, capability or policy.',
    errors: ['evidence_store_disabled', 'invalid_input', 'invalid_timestamps', 'unexpected_field'],
    query: {
      by: oneOf('hour', 'range'),
      since: shape.string,
      /** Of outcome, capability and policy, with commas; not the last two together. */
      split: shape.string,
      until: shape.string,
    },
    answer: decisionCounts,
  },
  rejected: {
    id: 'GET /admin/evidence/rejections',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Refused submissions',
    purpose: 'Lists refused evidence, newest first, with its code, claimed names and digest.',
    errors: ['evidence_store_disabled', 'invalid_page', 'unexpected_field'],
    query: { ...cursorQuery, limit: integer(1, 100) },
    answer: rejectionPage,
  },
  // Resource ids may hold slashes, so they take the rest of the path (protocol/trust-operations 6.8).
  resources: {
    id: 'GET /admin/evidence/resources/{resource_id}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'History of a resource',
    purpose: 'Gives one resource from decision to execution with its verification result.',
    errors: ['evidence_store_disabled', 'resource_not_found', 'unexpected_field'],
    tail: true,
    answer: open({
      resource_id: text,
      /** When retention removed every entry: what its checkpoint says. */
      head: optional(open({ resource_sequence: whole, record_digest: text })),
      ...history,
    }),
    gateway: { operation: 'evidence_store-resource-history', group: 'evidence_store', since: 'v0.59' },
  },
  resourceHeads: {
    id: 'GET /admin/evidence/resource-heads/{resource_id}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Head of a resource chain',
    purpose: 'Gives the last sequence and digest, from which the next record must continue.',
    errors: ['evidence_store_disabled', 'resource_not_found'],
    tail: true,
    answer: open({ resource_id: text, resource_sequence: whole, record_digest: text }),
    gateway: { operation: 'evidence_store-resource-head', group: 'evidence_store', since: 'v0.59' },
  },
  vendors: {
    id: 'GET /admin/evidence/vendors/{vendor_id}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'History of a vendor',
    purpose: 'Gives the decisions and evidence of one vendor with their verification result.',
    errors: ['evidence_store_disabled', 'unexpected_field', 'vendor_not_found'],
    answer: open({ vendor_id: text, ...history }),
    gateway: { operation: 'evidence_store-vendor-history', group: 'evidence_store', since: 'v0.59' },
  },
  export: {
    id: 'GET /admin/evidence/export',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json-lines',
    summary: 'Export evidence events',
    purpose: 'Streams evidence events from a store sequence for monitoring pipelines.',
    errors: ['evidence_store_disabled', 'invalid_page', 'unexpected_field'],
    gateway: {
      operation: 'evidence_store-export',
      group: 'evidence_store',
      query: ['limit', 'since_sequence'],
      since: 'v0.59',
    },
  },
  ...upkeepFacts,
} as const

/**
 * The opt-in store of decisions and what was done on them. While it is off every route here answers 404
 * (protocol/trust-operations 6).
 */
export const evidence: Routes<typeof facts> = routes(facts)

type SearchQuery = QueryOf<typeof evidence.search>
/** Filters of a search in store order. */
export type EvidenceFilter = Omit<
  SearchQuery,
  'before_sequence' | 'failed_gate' | 'group' | 'order' | 'requester_sovereign_id'
>
/** Filters of a search from the newest entry on; the two of decisions find decisions only. */
export type NewestFilter = Omit<SearchQuery, 'after_sequence' | 'group' | 'order'>
export type DecisionCountQuery = QueryOf<typeof evidence.counts>
export type ResourceHistory = AnswerOf<typeof evidence.resources>
export type VendorHistory = AnswerOf<typeof evidence.vendors>
export type StoreVerification = AnswerOf<typeof evidence.verify>
export type ExecutorKey = AnswerOf<typeof evidence.executorKeys>['executor_keys'][number]
export type RetentionRequest = SentOf<typeof evidence.retention>
export type AnchorPage = AnswerOf<typeof evidence.anchors>
export type AnchorResult = AnswerOf<typeof evidence.anchor>
