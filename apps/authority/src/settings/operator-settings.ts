import { existsSync, readFileSync } from 'node:fs'
import { ALL_ROUTES } from '@chancery/contract'
import { readPublicKeyFile } from '@chancery/protocol'
import { SettingError, jsonTextMap, oneOf, setting } from '@chancery/service-kit'
import type { Reader } from '@chancery/service-kit'
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

function keyText(value: string): string {
  if (!existsSync(value)) return value
  const file = readPublicKeyFile(readFileSync(value, 'utf8'))
  if (file === undefined) throw new SettingError(`${value} is not a public key file`)
  return file.value
}

/** Settings of operator keys and of the keys that a route needs. */
export const OPERATOR_SETTINGS = {
  operatorPublicKeys: setting({
    name: 'OPERATOR_PUBLIC_KEYS_JSON',
    flag: '--operator-public-key',
    help: 'Object key id → base64 public key; the flag takes <key-id>=<base64 or .pub file> and may be repeated.',
    read: jsonTextMap,
    readFlags: (texts) => operatorPairs(texts, 'key'),
    default: new Map(),
    defaultText: '{}',
  }),
  operatorKeyTiers: setting({
    name: 'OPERATOR_KEY_TIERS_JSON',
    flag: '--operator-key-tier',
    help: 'Object key id → standard or privileged; the flag takes <key-id>=<tier> and may be repeated.',
    read: jsonTextMap,
    readFlags: (texts) => operatorPairs(texts, 'tier'),
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
