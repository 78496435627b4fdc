import { Refusal } from '@chancery/contract'
import { type JsonObject, type JsonValue, isPlainText } from '@chancery/protocol'
import { areStrongKeys, isPublicKeyText, refuseUnknownMembers } from '../../requests/read-fields.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { readPartnerUrl } from './partner-url.ts'
import type { Pin } from './pin.ts'

/** What an operator may change of a partner. */
export interface Choices {
  readonly url: string
  readonly import_feeds: boolean
  readonly interval_seconds: number
  readonly max_feed_age_seconds: number | null
  readonly allow_http: boolean
  readonly paused: boolean
  readonly label: string | null
}

type UrlSettings = Pick<AuthoritySettings, 'partnerAddresses' | 'publicUrl'>

const CHOICES = ['url', 'import_feeds', 'interval_seconds', 'max_feed_age_seconds', 'allow_http', 'label']
const PINS = ['root_public_key', 'authority_public_keys']
const MAX_KEYS = 16

export interface AddRequest extends Choices {
  readonly sovereign_id: string | undefined
  readonly pin: Pin
  readonly defer: boolean
}

const DEFAULTS: Omit<Choices, 'url'> = {
  import_feeds: false,
  interval_seconds: 300,
  max_feed_age_seconds: null,
  allow_http: false,
  paused: false,
  label: null,
}

export async function readAddRequest(body: JsonObject, settings: UrlSettings): Promise<AddRequest> {
  refuseUnknownMembers(body, [...CHOICES, ...PINS, 'sovereign_id', 'defer'])
  const choices = readChoices(body, { ...DEFAULTS, url: '' }, settings)
  const pin = await readPin(body)
  const defer = readFlag(body, 'defer', false)
  const name = body['sovereign_id']
  if (name !== undefined && (typeof name !== 'string' || !isPlainText(name, 128))) throw invalid('sovereign_id')
  // Nothing is read, so the name cannot come from the genesis block.
  if (defer && name === undefined) throw invalid('sovereign_id')
  return { ...choices, sovereign_id: name, pin, defer }
}

/** Members that were not sent stay as they are. */
export function readUpdateRequest(body: JsonObject, before: Choices, settings: UrlSettings): Choices {
  refuseUnknownMembers(body, [...CHOICES, 'paused'])
  return readChoices(body, before, settings)
}

export async function readRepinRequest(body: JsonObject): Promise<{ readonly pin: Pin; readonly reason: string }> {
  refuseUnknownMembers(body, [...PINS, 'reason'])
  return { pin: await readPin(body), reason: readPartnerReason(body) }
}

export function readClearRequest(body: JsonObject): { readonly alarm_id: string; readonly reason: string } {
  refuseUnknownMembers(body, ['alarm_id', 'reason'])
  const alarm_id = body['alarm_id']
  if (typeof alarm_id !== 'string' || !isPlainText(alarm_id, 128)) throw invalid('alarm_id')
  return { alarm_id, reason: readPartnerReason(body) }
}

function readPartnerReason(body: JsonObject): string {
  const reason = body['reason']
  if (typeof reason !== 'string' || !isPlainText(reason, 256)) throw invalid('reason')
  return reason
}

function readChoices(body: JsonObject, before: Choices, settings: UrlSettings): Choices {
  const allow_http = readFlag(body, 'allow_http', before.allow_http)
  const asked = body['url'] === undefined ? before.url : body['url']
  const url = readPartnerUrl(asked, allow_http, settings)
  if (url === undefined) throw invalid('url')
  return {
    url,
    allow_http,
    import_feeds: readImport(body['import_feeds'], before.import_feeds),
    interval_seconds: readInteger(body, 'interval_seconds', before.interval_seconds, 60, 86_400),
    max_feed_age_seconds: readFeedAge(body['max_feed_age_seconds'], before.max_feed_age_seconds),
    paused: readFlag(body, 'paused', before.paused),
    label: readLabel(body['label'], before.label),
  }
}

async function readPin(body: JsonObject): Promise<Pin> {
  const { root_public_key: root, authority_public_keys: keys } = body
  if (root === undefined && keys === undefined) throw invalid('root_public_key')
  if (root !== undefined && keys !== undefined) throw invalid('authority_public_keys')
  if (root !== undefined) {
    if (!isPublicKeyText(root) || !(await areStrongKeys([root]))) throw invalid('root_public_key')
    return { kind: 'root', root_public_key: root }
  }
  const isList =
    Array.isArray(keys) &&
    keys.length > 0 &&
    keys.length <= MAX_KEYS &&
    keys.every(isPublicKeyText) &&
    new Set(keys).size === keys.length
  if (!isList || !(await areStrongKeys(keys))) throw invalid('authority_public_keys')
  return { kind: 'keys', authority_public_keys: keys }
}

function readFlag(body: JsonObject, name: string, absent: boolean): boolean {
  const value = body[name]
  if (value === undefined) return absent
  if (typeof value !== 'boolean') throw invalid(name)
  return value
}

function readImport(value: JsonValue | undefined, absent: boolean): boolean {
  if (value === undefined) return absent
  if (value !== 'on' && value !== 'off') throw invalid('import_feeds')
  return value === 'on'
}

function readInteger(body: JsonObject, name: string, absent: number, min: number, max: number): number {
  const value = body[name]
  if (value === undefined) return absent
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) throw invalid(name)
  return value
}

/** Null: the setting of the authority; 0: no age is asked for. */
function readFeedAge(value: JsonValue | undefined, absent: number | null): number | null {
  if (value === undefined) return absent
  if (value === null || value === 0) return value
  const isAge = typeof value === 'number' && Number.isInteger(value) && value >= 60 && value <= 2_592_000
  if (!isAge) throw invalid('max_feed_age_seconds')
  return value
}

function readLabel(value: JsonValue | undefined, absent: string | null): string | null {
  if (value === undefined) return absent
  if (value !== null && (typeof value !== 'string' || !isPlainText(value, 64))) throw invalid('label')
  return value
}

export function invalid(field: string): Refusal {
  return new Refusal('invalid_partner', { field })
}
