import { type BodyOf, type Partner, Refusal, partners } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { areStrongKeys, readForm } from '../../requests/read-fields.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { addressKind } from '@chancery/service-kit'
import { isAllowedAddress } from '../../requests/allowed-address.ts'

const MAX_CHARACTERS = 512

/** The origin of a partner, or undefined when it may not be called (protocol/partners 3). */
function readPartnerUrl(
  value: unknown,
  allowHttp: boolean,
  { partnerAddresses, publicUrl }: Pick<AuthoritySettings, 'partnerAddresses' | 'publicUrl'>,
): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS || !URL.canParse(value)) return undefined
  const url = new URL(value)
  const isPlain = url.protocol === 'http:'
  if (url.protocol !== 'https:' && !(isPlain && allowHttp)) return undefined
  const isBare = url.pathname === '/' && url.username === '' && url.password === '' && !/[?#@]/.test(value)
  if (!isBare || url.hostname === '' || url.origin === publicUrl) return undefined
  const isLiteral = addressKind(url.hostname) !== undefined
  if (isLiteral && !isAllowedAddress(url.hostname, partnerAddresses, isPlain)) return undefined
  return url.origin
}

/** What an operator may change of a partner. */
export type Choices = Pick<
  Partner,
  'url' | 'import_feeds' | 'interval_seconds' | 'max_feed_age_seconds' | 'allow_http' | 'paused' | 'label'
>

type UrlSettings = Pick<AuthoritySettings, 'partnerAddresses' | 'publicUrl'>
type Pins = Pick<BodyOf<typeof partners.add>, 'root_public_key' | 'authority_public_keys'>

export interface AddRequest extends Choices {
  readonly sovereign_id: string | undefined
  readonly pin: Partner['pin']
  readonly defer: boolean
}

const DEFAULTS: Choices = {
  url: '',
  import_feeds: 'off',
  interval_seconds: 300,
  max_feed_age_seconds: null,
  allow_http: false,
  paused: false,
  label: null,
}

export async function readAddRequest(body: JsonObject, settings: UrlSettings): Promise<AddRequest> {
  const {
    root_public_key,
    authority_public_keys,
    sovereign_id,
    defer = false,
    ...choices
  } = readForm(partners.add.body, body)
  const checked = withCheckedUrl({ ...DEFAULTS, ...choices }, settings)
  const pin = await checkPin({ root_public_key, authority_public_keys })
  // Nothing is read, so the name cannot come from the genesis block.
  if (defer && sovereign_id === undefined) throw invalid('sovereign_id')
  return { ...checked, sovereign_id, pin, defer }
}

/** Members that were not sent stay as they are. */
export function readUpdateRequest(body: JsonObject, before: Choices, settings: UrlSettings): Choices {
  return withCheckedUrl({ ...before, ...readForm(partners.update.body, body) }, settings)
}

function withCheckedUrl(choices: Choices, settings: UrlSettings): Choices {
  const url = readPartnerUrl(choices.url, choices.allow_http, settings)
  if (url === undefined) throw invalid('url')
  return { ...choices, url }
}

/** Exactly one of the two, and only keys of full order. */
export async function checkPin({
  root_public_key: root,
  authority_public_keys: keys,
}: {
  readonly [Name in keyof Pins]: Pins[Name] | undefined
}): Promise<Partner['pin']> {
  if (root === undefined && keys === undefined) throw invalid('root_public_key')
  if (root !== undefined && keys !== undefined) throw invalid('authority_public_keys')
  if (!(await areStrongKeys(keys ?? [root ?? '']))) throw invalid(keys ? 'authority_public_keys' : 'root_public_key')
  return keys === undefined
    ? { kind: 'root', root_public_key: root ?? '' }
    : { kind: 'keys', authority_public_keys: keys }
}

export function invalid(field: string): Refusal {
  return new Refusal('invalid_partner', { field })
}
