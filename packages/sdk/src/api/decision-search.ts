import { evidence } from '@chancery/contract'
import { type EvidenceStoreEntry, type JsonValue, shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { EvidenceEvent, EvidenceFilter } from './evidence-entries.ts'

/** Filters of a search from the newest entry on; the two of decisions find decisions only. */
export interface NewestFilter extends Omit<EvidenceFilter, 'after_sequence'> {
  readonly requester_sovereign_id?: string
  /** The first gate that did not pass. */
  readonly failed_gate?: string
  readonly before_sequence?: number
}

export interface NewestPage {
  readonly count: number
  readonly next_before_sequence: number | null
  readonly entries: readonly EvidenceEvent[]
  /** False while older decisions are not indexed yet, so some may be absent. */
  readonly complete: boolean
}

/** A decision, its justification and its newest executions. */
export interface DecisionGroup {
  readonly decision_id: string
  readonly executions: number
  readonly entries: readonly EvidenceEvent[]
}

export interface DecisionGroupPage extends Omit<NewestPage, 'entries'> {
  readonly groups: readonly DecisionGroup[]
}

export interface DecisionCountQuery {
  readonly by?: 'hour' | 'range'
  readonly since?: string
  readonly until?: string
  readonly split?: readonly ('outcome' | 'capability' | 'policy')[]
}

export interface StoredDecisionCount {
  readonly hour: string | null
  readonly outcome: string | null
  readonly capability: string | null
  readonly policy: string | null
  readonly decisions: number
}

export interface DecisionCounts {
  readonly since: string
  readonly until: string
  /** False: some names are left out, or older decisions are not counted yet. */
  readonly complete: boolean
  readonly counts: readonly StoredDecisionCount[]
}

/** A refused submission. The names are those that it claimed; its signer may be unknown. */
export interface RejectedEvidence {
  readonly rejection_id: string
  readonly rejected_at: string
  readonly code: string
  readonly count: number
  readonly submitted_digest: string
  readonly evidence_id: string | null
  readonly decision_id: string | null
  readonly resource_id: string | null
  readonly executor_sovereign_id: string | null
  /** Its entry; null when it is stored outside the chain. */
  readonly store_sequence: number | null
}

export interface RejectionPage {
  readonly count: number
  readonly rejections: readonly RejectedEvidence[]
  readonly next_cursor: string | null
}

export interface DecisionSearchApi {
  /** Refused submissions, newest first. */
  rejections(
    page?: { readonly cursor?: string; readonly limit?: number },
    options?: CallOptions,
  ): Promise<RejectionPage>
  /** Returns one page of entries, newest first. */
  newest(filter?: NewestFilter, options?: CallOptions): Promise<NewestPage>
  /** Returns one page of decisions, newest first, each with the entries about it. */
  decisions(
    filter?: Omit<NewestFilter, 'entry_kind' | 'resource_id'>,
    options?: CallOptions,
  ): Promise<DecisionGroupPage>
  counts(query?: DecisionCountQuery, options?: CallOptions): Promise<DecisionCounts>
}

const word = shape.required(shape.string)
const maybeWord = shape.withDefault(shape.nullable(shape.string), null)
const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const complete = shape.withDefault(shape.boolean, true)
const next_before_sequence = shape.required(shape.nullable(shape.integer(1, Number.MAX_SAFE_INTEGER)))

/** Envelopes are closed records: one with another member is not valid. */
export const readEvent: (value: JsonValue, field: string) => EvidenceEvent = shape.open({
  entry: shape.required((value: JsonValue, field: string) => shape.object(value, field) as EvidenceStoreEntry),
  entry_digest: word,
  payload: shape.required(shape.object),
})
const readNewest = shape.open({
  count,
  next_before_sequence,
  complete,
  entries: shape.required(shape.arrayOf(readEvent, { max: 1000 })),
})
const readGroup = shape.open({
  decision_id: word,
  executions: count,
  entries: shape.required(shape.arrayOf(readEvent, { max: 100 })),
})
const readGroups = shape.open({
  count,
  next_before_sequence,
  complete,
  groups: shape.required(shape.arrayOf(readGroup, { max: 100 })),
})
const readCount = shape.open({
  hour: maybeWord,
  outcome: maybeWord,
  capability: maybeWord,
  policy: maybeWord,
  decisions: count,
})
const readRejections = shape.open({
  count,
  rejections: shape.required(
    shape.arrayOf(
      shape.open({
        rejection_id: word,
        rejected_at: word,
        code: word,
        count,
        submitted_digest: word,
        evidence_id: maybeWord,
        decision_id: maybeWord,
        resource_id: maybeWord,
        executor_sovereign_id: maybeWord,
        store_sequence: shape.withDefault(shape.nullable(shape.integer(1, Number.MAX_SAFE_INTEGER)), null),
      }),
      { max: 100 },
    ),
  ),
  next_cursor: maybeWord,
})
const readCounts = shape.open({
  since: word,
  until: word,
  complete: shape.required(shape.boolean),
  counts: shape.required(shape.arrayOf(readCount, { max: 400 })),
})

export function decisionSearchApi({ call }: Connection): DecisionSearchApi {
  const route = evidence.search
  return {
    newest: (filter = {}, options) =>
      call({ route, query: { ...filter, order: 'newest' }, read: json((value) => readNewest(value, '')), options }),
    decisions: (filter = {}, options) =>
      call({
        route,
        query: { ...filter, order: 'newest', group: 'decision' },
        read: json((value) => readGroups(value, '')),
        options,
      }),
    rejections: (page = {}, options) =>
      call({ route: evidence.rejected, query: { ...page }, read: json((value) => readRejections(value, '')), options }),
    // Split by nothing is no split: the authority refuses an empty value.
    counts: ({ split = [], ...query } = {}, options) =>
      call({
        route: evidence.counts,
        query: { ...query, ...omitUndefined({ split: split.length === 0 ? undefined : split.join(',') }) },
        read: json((value) => readCounts(value, '')),
        options,
      }),
  }
}
