import { evidence } from '@chancery/contract'
import {
  FormError,
  isJsonObject,
  readReceived,
  retentionCheckpointForm,
  shape,
  storeAnchorForm,
} from '@chancery/protocol'
import type {
  DsseEnvelope,
  EvidenceStoreEntry,
  ExecutionEvidence,
  JsonObject,
  JsonValue,
  RetentionCheckpoint,
  StoreAnchor,
} from '@chancery/protocol'
import { readDsseEnvelope } from '../decision-bundle/format.ts'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import type { RecordOrText } from '../http/record-texts.ts'
import { type DecisionSearchApi, decisionSearchApi, readEvent } from './decision-search.ts'
import { preview } from '../http/dry-run.ts'
import type { EvidenceEvent, EvidenceFilter } from './evidence-entries.ts'
import { type ExportOptions, type ExportedPage, MAX_PAGE, exportPages, linesOf } from './evidence-export.ts'

export type { EvidenceEvent, EvidenceFilter } from './evidence-entries.ts'
export type { ExportOptions, ExportedPage } from './evidence-export.ts'

export interface EvidencePage {
  readonly count: number
  readonly next_after_sequence: number | null
  readonly entries: readonly EvidenceEvent[]
}

export interface RecordedEvidence {
  readonly entry: EvidenceStoreEntry
  readonly entry_digest: string
  /** duplicate: the identical record was stored before. */
  readonly status: 'recorded' | 'duplicate'
}

export interface ExecutorKey {
  readonly key_id: string
  readonly public_key: string
  readonly executor_sovereign_id: string
  readonly registered_at: string
  readonly retired_at: string | null
}

export interface AnchorResult {
  readonly anchor: StoreAnchor | null
  readonly status: 'anchored' | 'unchanged'
}

export interface AnchorPage {
  readonly count: number
  readonly next_after_anchor: number | null
  readonly anchors: readonly StoreAnchor[]
}

export interface RetentionResult {
  readonly removed_count: number
  /** Null when nothing was removed. */
  readonly checkpoint: RetentionCheckpoint | null
  /** Why no further entry was removed; null at an authority that does not say it. */
  readonly stopped_by: string | null
}

/** Removes nothing after an entry, for example after the last archived one. */
export interface RetentionLimit {
  readonly through_sequence?: number
}

/** What retention would remove. Entries are verified only when they are removed. */
export interface RetentionPreview {
  readonly dry_run: true
  readonly would_change: boolean
  readonly removed_count: number
  readonly removed_through_sequence: number | null
  readonly stopped_by: string
  /** False when the store has more entries than a preview reads. */
  readonly complete: boolean
  /** The given limit; null without one, and at an authority that does not know it. */
  readonly through_sequence: number | null
}

export interface EvidenceApi extends DecisionSearchApi {
  /** Signed by a registered executor key. May be repeated: the same record is then a duplicate. */
  submit(record: RecordOrText<ExecutionEvidence | JsonObject>, options?: CallOptions): Promise<RecordedEvidence>
  page(filter?: EvidenceFilter, options?: CallOptions): Promise<EvidencePage>
  /** One resource from decision to execution, with its verification. */
  resource(resourceId: string, options?: CallOptions): Promise<JsonObject>
  resourceHead(
    resourceId: string,
    options?: CallOptions,
  ): Promise<{ readonly resource_id: string; readonly resource_sequence: number; readonly record_digest: string }>
  vendor(vendorId: string, options?: CallOptions): Promise<JsonObject>
  /** Returns at most 1000 entries after a sequence, byte for byte as stored. */
  lines(sinceSequence: number, limit?: number, options?: CallOptions): Promise<readonly string[]>
  /** Returns every page after a sequence as bytes, with two pages in flight. Use it to copy an export. */
  pages(sinceSequence?: number, options?: ExportOptions): AsyncGenerator<ExportedPage, void, undefined>
  /** Returns every line after a sequence, with two pages in flight. */
  export(sinceSequence?: number, options?: CallOptions): AsyncGenerator<string, void, undefined>
  /** Returns the report of the authority about its own store; `StoreChecker` verifies without trusting the authority. */
  verify(options?: CallOptions): Promise<JsonObject>
  status(options?: CallOptions): Promise<JsonObject>
  executorKeys(options?: CallOptions): Promise<readonly ExecutorKey[]>
  registerKey(
    key: Pick<ExecutorKey, 'key_id' | 'public_key' | 'executor_sovereign_id'>,
    options?: CallOptions,
  ): Promise<{ readonly key_id: string; readonly executor_sovereign_id: string; readonly active: boolean }>
  retireKey(keyId: string, options?: CallOptions): Promise<{ readonly key_id: string; readonly active: boolean }>
  applyRetention(olderThanDays: number, options?: CallOptions, limit?: RetentionLimit): Promise<RetentionResult>
  /** Returns what `applyRetention` would remove, and removes nothing. Needs a key of the standard tier only. */
  previewRetention(olderThanDays: number, options?: CallOptions, limit?: RetentionLimit): Promise<RetentionPreview>
  anchors(
    page?: { readonly after_anchor?: number; readonly limit?: number },
    options?: CallOptions,
  ): Promise<AnchorPage>
  anchor(options?: CallOptions): Promise<AnchorResult>
  /** A stored decision in a DSSE envelope that the authority signs for this call; see `checkDecisionBundle`. */
  bundle(decisionId: string, options?: CallOptions): Promise<DsseEnvelope>
}

const word = shape.required(shape.string)
const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const place = shape.required(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)))

const readPage = shape.open({
  count,
  next_after_sequence: place,
  entries: shape.required(shape.arrayOf(readEvent, { max: MAX_PAGE })),
})
const readRecorded = shape.open({
  entry: shape.required((value: JsonValue, field: string) => shape.object(value, field) as EvidenceStoreEntry),
  entry_digest: word,
  status: shape.required(shape.oneOf('recorded', 'duplicate')),
})
const readHead = shape.open({ resource_id: word, resource_sequence: count, record_digest: word })
const readKey = shape.open({
  key_id: word,
  public_key: word,
  executor_sovereign_id: word,
  registered_at: word,
  retired_at: shape.required(shape.nullable(shape.string)),
})
const readKeys = shape.open({ executor_keys: shape.required(shape.arrayOf(readKey, { max: 1_000_000 })) })
const active = shape.required(shape.boolean)
const readRegistered = shape.open({ key_id: word, executor_sovereign_id: word, active })
const readRetired = shape.open({ key_id: word, active })
const readAnchor = (value: JsonValue): StoreAnchor => readReceived(storeAnchorForm, value).record
const readAnchors = shape.open({
  count,
  next_after_anchor: place,
  anchors: shape.required(shape.arrayOf(readAnchor, { max: MAX_PAGE })),
})
const readAnchored = shape.open({
  anchor: shape.required(shape.nullable(readAnchor)),
  status: shape.required(shape.oneOf('anchored', 'unchanged')),
})
const readBundle = shape.open({
  envelope: shape.required((value: JsonValue, field: string): DsseEnvelope => {
    const envelope = readDsseEnvelope(value)
    if (envelope === undefined) throw new FormError(field, 'a DSSE envelope with one signature is needed')
    return envelope
  }),
})
const readRetention = shape.open({
  removed_count: count,
  checkpoint: shape.required(
    shape.nullable((value: JsonValue): RetentionCheckpoint => readReceived(retentionCheckpointForm, value).record),
  ),
  stopped_by: shape.withDefault(shape.nullable(shape.string), null),
})
const readRetentionPreview = shape.open({
  dry_run: shape.required(shape.isTrue),
  would_change: active,
  removed_count: count,
  removed_through_sequence: place,
  stopped_by: word,
  complete: active,
  through_sequence: shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null),
})

export function evidenceApi(connection: Connection): EvidenceApi {
  const lines = (since: number, limit: number, options: CallOptions | undefined): Promise<readonly string[]> =>
    connection.call({
      route: evidence.export,
      query: { since_sequence: since, limit },
      read: (incoming) => text(incoming).split('\n').slice(0, -1),
      options,
    })
  return {
    ...decisionSearchApi(connection),
    ...readingMethods(connection),
    ...keepingMethods(connection),
    lines: (since, limit = MAX_PAGE, options) => lines(since, limit, options),
    pages: (since = 0, options) => exportPages(connection, since, options),
    async *export(since = 0, options) {
      for await (const page of exportPages(connection, since, options)) yield* linesOf(page)
    },
  }
}

type Reading = 'page' | 'resource' | 'resourceHead' | 'vendor' | 'verify' | 'status' | 'executorKeys' | 'anchors'

function readingMethods({ call }: Connection): Pick<EvidenceApi, Reading> {
  const object = json((value) => {
    if (!isJsonObject(value)) throw new FormError('', 'an object is needed')
    return value
  })
  return {
    page: (filter = {}, options) =>
      call({ route: evidence.search, query: { ...filter }, read: json((value) => readPage(value, '')), options }),
    resource: (resource_id, options) =>
      call({ route: evidence.resources, params: { resource_id }, read: object, options }),
    resourceHead: (resource_id, options) =>
      call({
        route: evidence.resourceHeads,
        params: { resource_id },
        read: json((value) => readHead(value, '')),
        options,
      }),
    vendor: (vendor_id, options) => call({ route: evidence.vendors, params: { vendor_id }, read: object, options }),
    verify: (options) => call({ route: evidence.verify, read: object, options }),
    status: (options) => call({ route: evidence.status, read: object, options }),
    executorKeys: (options) =>
      call({ route: evidence.executorKeys, read: json((value) => readKeys(value, '').executor_keys), options }),
    anchors: (page = {}, options) =>
      call({ route: evidence.anchors, query: { ...page }, read: json((value) => readAnchors(value, '')), options }),
  }
}

type Keeping = 'submit' | 'registerKey' | 'retireKey' | 'applyRetention' | 'previewRetention' | 'anchor' | 'bundle'

function keepingMethods(connection: Connection): Pick<EvidenceApi, Keeping> {
  const { call } = connection
  return {
    submit: (record, options) =>
      call({
        route: evidence.execution,
        body: { evidence: record as JsonObject | string },
        repeatable: true,
        read: json((value) => readRecorded(value, '')),
        options,
      }),
    // Nothing is stored but the audit event, so it may be repeated.
    bundle: (decision_id, options) =>
      call({
        route: evidence.bundle,
        body: { decision_id },
        repeatable: true,
        read: json((value) => readBundle(value, '').envelope),
        options,
      }),
    registerKey: (key, options) =>
      call({
        route: evidence.registerKey,
        body: omitUndefined({ ...key }),
        read: json((value) => readRegistered(value, '')),
        options,
      }),
    retireKey: (key_id, options) =>
      call({
        route: evidence.retireKey,
        params: { key_id },
        body: {},
        read: json((value) => readRetired(value, '')),
        options,
      }),
    applyRetention: (older_than_days, options, limit = {}) =>
      call({
        route: evidence.retention,
        body: { older_than_days, ...limit },
        read: json((value) => readRetention(value, '')),
        options,
      }),
    previewRetention: (older_than_days, options, limit = {}) =>
      preview(connection, {
        route: evidence.retention,
        body: { older_than_days, ...limit, dry_run: true },
        repeatable: true,
        read: json((value) => readRetentionPreview(value, '')),
        options,
      }),
    anchor: (options) =>
      call({
        route: evidence.anchor,
        body: {},
        repeatable: true,
        read: json((value) => readAnchored(value, '')),
        options,
      }),
  }
}
