import { existsSync, readFileSync } from 'node:fs'
import { ALL_ROUTES, isOperatorsFileError, readOperatorsFile } from '@chancery/contract'
import { readPublicKeyFile } from '@chancery/protocol'
import { type Reader, SettingError, jsonTextMap, oneOf, setting } from '@chancery/service-kit'
import { splitList } from './readers.ts'

const STANDARD_ROUTES: ReadonlySet<string> = new Set(
  ALL_ROUTES.filter((route) => route.access === 'operator:standard').map((route) => route.id),
)

/** Reads routes that standard keys may call. Another name stops the start: a misspelt route would stay open to standard keys. */
const routeList: Reader<ReadonlySet<string>> = (value) => {
  const ids = splitList(value).map((id) => id.replaceAll(/\s+/g, ' '))
  if (ids.some((id) => !STANDARD_ROUTES.has(id)))
    throw new SettingError('must be a comma list of routes that standard keys may call, such as POST /admin/invite')
  return new Set(ids)
}

/** Reads repeated `<key-id>=<value>` flags; a key value may be the path of a .pub file (protocol/core 12). */
function operatorPairs(texts: readonly string[], kind: 'key' | 'tier'): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  for (const text of texts) {
    // Base64 ends in "=": only the first one separates.
    const cut = text.indexOf('=')
    const [name, value] = [text.slice(0, cut), text.slice(cut + 1)]
    if (cut < 1 || value === '') throw new SettingError('must have the form <key-id>=<value>')
    if (pairs.has(name)) throw new SettingError(`names ${name} twice`)
    pairs.set(name, kind === 'key' ? keyText(value) : value)
  }
  return pairs
}

/** Where operator keys come from: the setting itself, or a file that is read again when it changes. */
export interface OperatorKeySource {
  readonly keys: ReadonlyMap<string, string>
  /** Tiers of the file. Without a file they are a separate setting. */
  readonly tiers?: ReadonlyMap<string, string>
  readonly file?: string
}

/** Reads a JSON object, or the operators file with this path. */
const operatorKeys: Reader<OperatorKeySource> = (value) => {
  if (value.trimStart().startsWith('{')) return { keys: jsonTextMap(value) }
  try {
    return { ...toKeyMaps(readFileSync(value, 'utf8')), file: value }
  } catch (error) {
    if (isOperatorsFileError(error)) throw new SettingError(`names a file that is no operators file: ${error.message}`)
    throw new SettingError('must be a JSON object, or the path of an operators file that can be read')
  }
}

/** Returns the keys and tiers of an operators file. */
export function toKeyMaps(text: string): Required<Pick<OperatorKeySource, 'keys' | 'tiers'>> {
  const { operators } = readOperatorsFile(text)
  return {
    keys: new Map(operators.map(({ key_id, public_key }) => [key_id, public_key])),
    tiers: new Map(operators.map(({ key_id, tier }) => [key_id, tier])),
  }
}

function keyText(value: string): string {
  if (!existsSync(value)) return value
  const file = readPublicKeyFile(readFileSync(value, 'utf8'))
  if (file === undefined) throw new SettingError(`${value} is not a public key file`)
  return file.value
}

const NO_OPERATORS: OperatorKeySource = { keys: new Map() }

/** Settings of operator keys and of the keys that a route needs. */
export const OPERATOR_SETTINGS = {
  operatorPublicKeys: setting({
    name: 'OPERATOR_PUBLIC_KEYS_JSON',
    flag: '--operator-public-key',
    help: 'Object key id → base64 public key, or the path of an operators file with keys and tiers, which is read again when it changes; the flag takes <key-id>=<base64 or .pub file>, may be repeated, and adds to the object.',
    read: operatorKeys,
    readFlags: (texts): OperatorKeySource => ({ keys: operatorPairs(texts, 'key') }),
    // An operators file has keys and tiers, so the flags stand for the whole of it.
    addFlags: (configured, given): OperatorKeySource =>
      configured.file === undefined ? { keys: new Map([...configured.keys, ...given.keys]) } : given,
    default: NO_OPERATORS,
    defaultText: '{}',
  }),
  operatorKeyTiers: setting({
    name: 'OPERATOR_KEY_TIERS_JSON',
    flag: '--operator-key-tier',
    help: 'Object key id → standard or privileged; not with an operators file, which has the tiers; the flag takes <key-id>=<tier>, may be repeated, and adds to the object.',
    read: jsonTextMap,
    readFlags: (texts) => operatorPairs(texts, 'tier'),
    addFlags: (configured, given) => new Map([...configured, ...given]),
    default: new Map(),
    defaultText: '{}',
  }),
  privilegedRoutes: setting({
    name: 'NA_PRIVILEGED_ROUTES',
    help: 'Comma list of operator routes (POST /admin/trust-evidence) that only privileged keys may call.',
    read: routeList,
    default: new Set<string>(),
    defaultText: 'none',
  }),
  ownOfferAcceptance: setting({
    name: 'NA_OWN_OFFER_ACCEPTANCE',
    help: 'second-key: an own offer needs another operator key for its acceptance.',
    read: oneOf('any-key', 'second-key'),
    default: 'any-key',
  }),
} as const
