import { LIMITS } from '@chancery/contract'
import { type JsonValue, type RecognitionTreaty, readRecognitionTreaty, shape } from '@chancery/protocol'
import { known } from '../http/read-response.ts'

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
  readonly pin: PinnedKeys
  readonly import_feeds: 'on' | 'off'
  readonly interval_seconds: number
  readonly max_feed_age_seconds: number | null
  readonly allow_http: boolean
  readonly paused: boolean
  readonly label: string | null
  readonly state: PartnerState
  readonly reasons: readonly string[]
  readonly last_good_pull_at: string | null
  readonly next_pull_at: string
  readonly failures: number
  readonly genesis: PartnerGenesis | null
  readonly feed: PartnerFeed | null
  readonly crl: PartnerCrl | null
  readonly treaties: PartnerTreatyCounts | null
  readonly last_pull: { readonly at: string; readonly outcome: string; readonly duration_ms: number } | null
  readonly added_at: string
  readonly added_by: string
}

export type PinnedKeys =
  | { readonly kind: 'root'; readonly root_public_key: string }
  | { readonly kind: 'keys'; readonly authority_public_keys: readonly string[] }

export interface PartnerGenesis {
  readonly digest: string
  readonly root_public_key: string
  readonly valid_to: string
  /** False when authority keys are pinned and not the root. */
  readonly pinned: boolean
}

export interface PartnerCrl {
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly entries: number
  readonly digest: string
}

export interface PartnerTreatyCounts {
  readonly active: number
  readonly refused: number
  readonly truncated: boolean
  readonly as_of: string | null
}

export interface PartnerFeed {
  readonly sequence: number
  readonly issued_at: string
  readonly ids: number
  readonly digest: string
  readonly imported_sequence: number | null
  readonly complete: boolean
}

export interface PartnerAlarm {
  readonly alarm_id: string
  readonly kind: string
  readonly material: string
  readonly sequence: number | null
  readonly held_digest: string | null
  readonly offered_digest: string | null
  readonly raised_at: string
  readonly cleared_at: string | null
}

export interface PartnerKey {
  readonly public_key: string
  readonly key_id: string | null
  readonly valid_from: string | null
  readonly valid_to: string | null
  readonly current: boolean
}

export interface Partner extends ListedPartner {
  readonly authority_keys: readonly PartnerKey[]
  readonly alarms: readonly PartnerAlarm[]
}

export interface PartnerPage {
  readonly count: number
  readonly partners: readonly ListedPartner[]
  readonly next_cursor: string | null
}

export interface PartnerPull {
  readonly outcome: string
  readonly changed: readonly string[]
  readonly partner: Partner
}

export interface RemovedPartner {
  readonly sovereign_id: string
  readonly removed: boolean
  readonly treaties_in_force: readonly string[]
}

export interface PartnerTreaties {
  readonly count: number
  readonly treaties: readonly { readonly treaty: RecognitionTreaty; readonly as_of: string | null }[]
  readonly next_cursor: string | null
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const wholeOrNull = shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null)
const words = shape.required(shape.arrayOf(shape.string, { max: LIMITS.listPageRows }))

const readKind = known({ kind: shape.required(shape.oneOf('root', 'keys')) })
const readRootPin = known({ kind: shape.required(shape.oneOf('root')), root_public_key: word })
const readKeysPin = known({ kind: shape.required(shape.oneOf('keys')), authority_public_keys: words })

function readPinned(value: JsonValue, field: string): PinnedKeys {
  return readKind(value, field).kind === 'root' ? readRootPin(value, field) : readKeysPin(value, field)
}

const listed = {
  sovereign_id: word,
  url: word,
  pin: shape.required(readPinned),
  import_feeds: shape.required(shape.oneOf('on', 'off')),
  interval_seconds: whole,
  max_feed_age_seconds: wholeOrNull,
  allow_http: flag,
  paused: flag,
  label: wordOrNull,
  state: shape.required(shape.oneOf('alarm', 'paused', 'new', 'fresh', 'watch', 'stale')),
  reasons: words,
  last_good_pull_at: wordOrNull,
  next_pull_at: word,
  failures: whole,
  genesis: shape.withDefault(
    shape.nullable(known({ digest: word, root_public_key: word, valid_to: word, pinned: flag })),
    null,
  ),
  feed: shape.withDefault(
    shape.nullable(
      known({
        sequence: whole,
        issued_at: word,
        ids: whole,
        digest: word,
        imported_sequence: wholeOrNull,
        complete: flag,
      }),
    ),
    null,
  ),
  crl: shape.withDefault(
    shape.nullable(known({ sequence: whole, issued_at: word, next_update: word, entries: whole, digest: word })),
    null,
  ),
  treaties: shape.withDefault(
    shape.nullable(known({ active: whole, refused: whole, truncated: flag, as_of: wordOrNull })),
    null,
  ),
  last_pull: shape.withDefault(shape.nullable(known({ at: word, outcome: word, duration_ms: whole })), null),
  added_at: word,
  added_by: word,
}

const partnerForm = known({
  ...listed,
  authority_keys: shape.required(
    shape.arrayOf(
      known({ public_key: word, key_id: wordOrNull, valid_from: wordOrNull, valid_to: wordOrNull, current: flag }),
      { max: 128 },
    ),
  ),
  alarms: shape.required(
    shape.arrayOf(
      known({
        alarm_id: word,
        kind: word,
        material: word,
        sequence: wholeOrNull,
        held_digest: wordOrNull,
        offered_digest: wordOrNull,
        raised_at: word,
        cleared_at: wordOrNull,
      }),
      { max: 100 },
    ),
  ),
})

const pageForm = known({
  count: whole,
  partners: shape.required(shape.arrayOf(known(listed), { max: LIMITS.listPageRows })),
  next_cursor: wordOrNull,
})

const treatiesForm = known({
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

const pullForm = known({ outcome: word, changed: words, partner: shape.required(partnerForm) })
const removedForm = known({ sovereign_id: word, removed: flag, treaties_in_force: words })

export function readPartner(value: JsonValue): Partner {
  return partnerForm(value, '')
}

export function readPage(value: JsonValue): PartnerPage {
  return pageForm(value, '')
}

export function readTreaties(value: JsonValue): PartnerTreaties {
  return treatiesForm(value, '')
}

export function readPull(value: JsonValue): PartnerPull {
  return pullForm(value, '')
}

export function readRemoved(value: JsonValue): RemovedPartner {
  return removedForm(value, '')
}
