import { LIMITS, partners } from '@chancery/contract'
import { readRecognitionTreaty, shape } from '@chancery/protocol'
import type { JsonObject, RecognitionTreaty } from '@chancery/protocol'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'
import { json, known } from '../http/read-response.ts'

export type PartnerState = 'alarm' | 'paused' | 'new' | 'fresh' | 'watch' | 'stale'

/** The keys that an operator fixed for a partner. */
export type PartnerPin = { readonly root_public_key: string } | { readonly authority_public_keys: readonly string[] }

/** What an operator may change. */
export interface PartnerChanges {
  readonly url?: string
  readonly import_feeds?: 'on' | 'off'
  readonly interval_seconds?: number
  /** Null: the setting of the authority; 0: no age is asked for. */
  readonly max_feed_age_seconds?: number | null
  readonly allow_http?: boolean
  readonly paused?: boolean
  readonly label?: string | null
}

export type PartnerRequest = PartnerPin &
  Omit<PartnerChanges, 'paused' | 'url'> & {
    readonly url: string
    readonly sovereign_id?: string
    /** Reads nothing now. */
    readonly defer?: boolean
  }

/** A partner as a list shows it. */
export interface ListedPartner {
  readonly sovereign_id: string
  readonly url: string
  readonly import_feeds: 'on' | 'off'
  readonly interval_seconds: number
  readonly paused: boolean
  readonly label: string | null
  readonly state: PartnerState
  readonly reasons: readonly string[]
  readonly last_good_pull_at: string | null
  readonly next_pull_at: string
  readonly failures: number
  readonly feed: PartnerFeed | null
  readonly treaties: { readonly active: number; readonly refused: number; readonly truncated: boolean } | null
  readonly last_pull: { readonly at: string; readonly outcome: string; readonly duration_ms: number } | null
}

export interface PartnerFeed {
  readonly sequence: number
  readonly issued_at: string
  readonly ids: number
  readonly imported_sequence: number | null
  readonly complete: boolean
}

export interface PartnerAlarm {
  readonly alarm_id: string
  readonly kind: string
  readonly material: string
  readonly sequence: number | null
  readonly raised_at: string
  readonly cleared_at: string | null
}

export interface Partner extends ListedPartner {
  readonly authority_keys: readonly { readonly public_key: string; readonly current: boolean }[]
  readonly alarms: readonly PartnerAlarm[]
}

export interface PartnerPage {
  readonly count: number
  readonly partners: readonly ListedPartner[]
  readonly next_cursor: string | null
}

export interface PartnerTreaties {
  readonly count: number
  readonly treaties: readonly { readonly treaty: RecognitionTreaty; readonly as_of: string | null }[]
  readonly next_cursor: string | null
}

export interface PartnersApi {
  /** As operator. After an unknown outcome it is repeated only with an idempotency key. */
  add(request: PartnerRequest, options?: WriteOptions): Promise<Partner>
  list(
    query?: { readonly state?: PartnerState; readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<PartnerPage>
  get(sovereign_id: string, options?: CallOptions): Promise<Partner>
  /** Members that are left out stay as they are. */
  update(sovereign_id: string, changes: PartnerChanges, options?: CallOptions): Promise<Partner>
  pull(
    sovereign_id: string,
    options?: CallOptions,
  ): Promise<{ readonly outcome: string; readonly changed: readonly string[]; readonly partner: Partner }>
  repin(
    sovereign_id: string,
    request: PartnerPin & { readonly reason: string },
    options?: CallOptions,
  ): Promise<Partner>
  clearAlarm(
    sovereign_id: string,
    request: { readonly alarm_id: string; readonly reason: string },
    options?: CallOptions,
  ): Promise<Partner>
  /** Own treaties stay. The response names those in force. */
  remove(
    sovereign_id: string,
    request?: { readonly reason?: string; readonly dryRun?: boolean },
    options?: CallOptions,
  ): Promise<{
    readonly sovereign_id: string
    readonly removed: boolean
    readonly treaties_in_force: readonly string[]
  }>
  /** What the partner reports. It decides nothing. */
  treaties(
    sovereign_id: string,
    query?: { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<PartnerTreaties>
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const wholeOrNull = shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null)
const words = shape.required(shape.arrayOf(shape.string, { max: LIMITS.listPageRows }))

const listed = {
  sovereign_id: word,
  url: word,
  import_feeds: shape.required(shape.oneOf('on', 'off')),
  interval_seconds: whole,
  paused: flag,
  label: wordOrNull,
  state: shape.required(shape.oneOf('alarm', 'paused', 'new', 'fresh', 'watch', 'stale')),
  reasons: words,
  last_good_pull_at: wordOrNull,
  next_pull_at: word,
  failures: whole,
  feed: shape.withDefault(
    shape.nullable(
      known({ sequence: whole, issued_at: word, ids: whole, imported_sequence: wholeOrNull, complete: flag }),
    ),
    null,
  ),
  treaties: shape.withDefault(shape.nullable(known({ active: whole, refused: whole, truncated: flag })), null),
  last_pull: shape.withDefault(shape.nullable(known({ at: word, outcome: word, duration_ms: whole })), null),
}

const readPartner = known({
  ...listed,
  authority_keys: shape.required(shape.arrayOf(known({ public_key: word, current: flag }), { max: 128 })),
  alarms: shape.required(
    shape.arrayOf(
      known({
        alarm_id: word,
        kind: word,
        material: word,
        sequence: wholeOrNull,
        raised_at: word,
        cleared_at: wordOrNull,
      }),
      { max: 100 },
    ),
  ),
})

const readPage = known({
  count: whole,
  partners: shape.required(shape.arrayOf(known(listed), { max: LIMITS.listPageRows })),
  next_cursor: wordOrNull,
})

const readTreaties = known({
  count: whole,
  treaties: shape.required(
    shape.arrayOf(
      known({
        treaty: shape.required((value): RecognitionTreaty => readRecognitionTreaty(value)),
        as_of: wordOrNull,
      }),
      { max: LIMITS.listPageRows },
    ),
  ),
  next_cursor: wordOrNull,
})

const readPull = known({ outcome: word, changed: words, partner: shape.required(readPartner) })
const readRemoved = known({ sovereign_id: word, removed: flag, treaties_in_force: words })

// oxlint-disable-next-line max-lines-per-function -- one member per call
export function partnersApi({ call }: Connection): PartnersApi {
  const partner = json((value) => readPartner(value, ''))
  return {
    add: (request, options) =>
      call({
        route: partners.add,
        body: omitUndefined({ ...request }),
        idempotencyKey: options?.idempotencyKey,
        repeatable: options?.idempotencyKey !== undefined,
        read: partner,
        options,
      }),
    list: (query = {}, options) =>
      call({ route: partners.list, query: { ...query }, read: json((value) => readPage(value, '')), options }),
    get: (sovereign_id, options) => call({ route: partners.find, params: { sovereign_id }, read: partner, options }),
    update: (sovereign_id, changes, options) =>
      call({
        route: partners.update,
        params: { sovereign_id },
        body: omitUndefined({ ...changes }),
        repeatable: true,
        read: partner,
        options,
      }),
    pull: (sovereign_id, options) =>
      call({
        route: partners.pull,
        params: { sovereign_id },
        body: {} satisfies JsonObject,
        repeatable: false,
        read: json((value) => readPull(value, '')),
        options,
      }),
    repin: (sovereign_id, request, options) =>
      call({
        route: partners.repin,
        params: { sovereign_id },
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: partner,
        options,
      }),
    clearAlarm: (sovereign_id, request, options) =>
      call({
        route: partners.clearAlarm,
        params: { sovereign_id },
        body: { ...request },
        repeatable: true,
        read: partner,
        options,
      }),
    remove: (sovereign_id, { reason, dryRun } = {}, options) =>
      call({
        route: partners.remove,
        params: { sovereign_id },
        body: omitUndefined({ reason, dry_run: dryRun === true ? true : undefined }),
        repeatable: dryRun === true,
        read: json((value) => readRemoved(value, '')),
        options,
      }),
    treaties: (sovereign_id, query = {}, options) =>
      call({
        route: partners.treaties,
        params: { sovereign_id },
        query: { ...query },
        read: json((value) => readTreaties(value, '')),
        options,
      }),
  }
}
