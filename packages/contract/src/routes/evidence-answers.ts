import { retentionCheckpointForm, shape } from '@chancery/protocol'
import type { DsseEnvelope, EvidenceStoreEntry, Read, ReadBy } from '@chancery/protocol'
import { count, flag, isDryRun, listOf, orNull, record, text, textOrNull, whole, wholeOrNull } from '../members.ts'

const { arrayOf, integer, nullable, oneOf, open, optional, required, withDefault } = shape

export const placeOrNull = required(nullable(count))

/** As it is stored. Who needs its digest computes it. */
const entry = required(
  record('evidence-store-entry', (value, place) => shape.object(value, place) as EvidenceStoreEntry),
)

/** A stored record with its position in the chain (protocol/trust-operations 6.7). */
const event = open({
  entry,
  entry_digest: text,
  payload: required(shape.object),
  schema: optional(shape.string),
  schema_version: optional(count),
})

/** False while older decisions are not indexed yet, so some may be absent. */
const complete = withDefault(shape.boolean, true)

/** A page in store order. */
export const oldestPage = open({ count: whole, next_after_sequence: placeOrNull, complete, entries: listOf(event) })

/** A page from the newest entry on. */
export const newestPage = open({ count: whole, next_before_sequence: placeOrNull, complete, entries: listOf(event) })

/** A page of decisions, the newest first, each with the entries about it. */
export const decisionPage = open({
  count: whole,
  next_before_sequence: placeOrNull,
  complete,
  groups: listOf(
    open({
      decision_id: text,
      executions: whole,
      /** The decision, its justification and its newest executions. */
      entries: listOf(event, 100),
    }),
    100,
  ),
})

export const decisionCounts = open({
  by: withDefault(oneOf('hour', 'range'), 'hour'),
  since: text,
  until: text,
  /** False: some names are left out, or older decisions are not counted yet. */
  complete: flag,
  counts: listOf(
    open({ hour: textOrNull, outcome: textOrNull, capability: textOrNull, policy: textOrNull, decisions: whole }),
    400,
  ),
})

/** Refused submissions. The names are those that each claimed; its signer may be unknown. */
export const rejectionPage = open({
  count: whole,
  rejections: listOf(
    open({
      rejection_id: text,
      rejected_at: text,
      code: text,
      count: whole,
      submitted_digest: text,
      evidence_id: textOrNull,
      decision_id: textOrNull,
      resource_id: textOrNull,
      executor_sovereign_id: textOrNull,
      verified_executor: withDefault(nullable(shape.boolean), null),
      /** Its entry; null when it is stored outside the chain. */
      store_sequence: wholeOrNull,
    }),
    100,
  ),
  next_cursor: textOrNull,
})

const findings = arrayOf(open({ store_sequence: wholeOrNull, reason: text, detail: text }), { max: 10_000 })

/** What the authority found out about entries. `StoreChecker` of the library verifies without trusting the authority. */
export const report = {
  verified: flag,
  checked_entries: whole,
  decisions: whole,
  executions: whole,
  rejections: whole,
  failures: required(findings),
  warnings: optional(findings),
}

/** Entries from decision to execution, with their verification. */
export const history = {
  truncated: flag,
  entries: listOf(event, 10_000_000),
  verification: required(open(report)),
}

export const storeStatus = open({
  evidence_store: text,
  entries: whole,
  last_store_sequence: wholeOrNull,
  rejections: whole,
  active_executor_keys: whole,
  /** The last removed entry. */
  retention_checkpoint: wholeOrNull,
  latest_anchor: orNull({ anchor_sequence: whole, store_sequence: whole, anchored_at: text }),
  unanchored_entries: whole,
})

export const retentionResult = open({
  removed_count: whole,
  /** Null when nothing was removed. */
  checkpoint: required(nullable(record('retention-checkpoint', retentionCheckpointForm.read))),
  /** Why no further entry was removed; null at an authority that does not say it. */
  stopped_by: textOrNull,
})

/** Entries are verified only when they are removed. */
export const retentionPreview = open({
  dry_run: isDryRun,
  would_change: flag,
  removed_count: whole,
  removed_through_sequence: placeOrNull,
  stopped_by: text,
  /** False when the store has more entries than a preview reads. */
  complete: flag,
  /** The given limit; null without one, and at an authority that does not know it. */
  through_sequence: wholeOrNull,
})

export const recorded = open({
  entry,
  entry_digest: text,
  /** duplicate: the identical record was stored before. */
  status: required(oneOf('recorded', 'duplicate')),
})

/** The bounds leave exactly one. */
const signatures = arrayOf(open({ keyid: text, sig: text }), { min: 1, max: 1 }) as Read<DsseEnvelope['signatures']>

export const bundled = open({
  envelope: required(open({ payload: text, payloadType: text, signatures: required(signatures) })),
})

export const position = integer(1, Number.MAX_SAFE_INTEGER)

export type EvidencePage = ReadBy<typeof oldestPage>
export type EvidenceEvent = EvidencePage['entries'][number]
export type NewestPage = ReadBy<typeof newestPage>
export type DecisionGroupPage = ReadBy<typeof decisionPage>
export type DecisionGroup = DecisionGroupPage['groups'][number]
export type DecisionCounts = ReadBy<typeof decisionCounts>
export type StoredDecisionCount = DecisionCounts['counts'][number]
export type RejectionPage = ReadBy<typeof rejectionPage>
export type RejectedEvidence = RejectionPage['rejections'][number]
export type StoreStatus = ReadBy<typeof storeStatus>
export type RecordedEvidence = ReadBy<typeof recorded>
export type RetentionResult = ReadBy<typeof retentionResult>
/** What retention would remove. */
export type RetentionPreview = ReadBy<typeof retentionPreview>
