import { isJsonObject } from '@chancery/protocol'
import type { Crl, JsonObject, JsonValue } from '@chancery/protocol'

/** What a gateway has to know of the newest key of a network; the root vouched for it. */
export interface FollowedIssuer {
  readonly publicKey: string
  /** A list that this key signed; its issuer is the id of the key. */
  readonly list: Crl
  /** Where the authority answers. */
  readonly origin: string
  /** The authority serves no list of the primary issuer any more: its key is retired. */
  readonly isPrimaryRetired: boolean
}

export type Change = 'unchanged' | 'added' | 'promoted'

/** The entry of a network with its newest key pinned, too; with the primary issuer replaced once that is retired. */
export function followNetwork(entry: JsonObject, issuer: FollowedIssuer): { entry: JsonObject; change: Change } {
  const keyId = issuer.list.issuer
  const primary = issuerOf(entry)
  const more = isJsonObject(entry['additional_issuers'] ?? null) ? (entry['additional_issuers'] as JsonObject) : {}
  if (primary === keyId && holds(entry, issuer)) return { entry, change: 'unchanged' }
  const listed = Object.hasOwn(more, keyId) ? more[keyId] : undefined
  const known = listed !== undefined && isJsonObject(listed) && holds(listed, issuer) ? listed : undefined
  const added = known ?? newIssuer(entry, issuer)
  if (issuer.isPrimaryRetired) {
    const { [keyId]: _promoted, ...others } = more
    const { additional_issuers: _before, ...rest } = entry
    const next = { ...rest, ...added }
    return {
      entry: Object.keys(others).length === 0 ? next : { ...next, additional_issuers: others },
      change: 'promoted',
    }
  }
  const addressed = { ...entry, ...ownAddress(entry, primary) }
  const isSame = known !== undefined && addressed['crl_url'] === entry['crl_url']
  if (isSame) return { entry, change: 'unchanged' }
  return { entry: { ...addressed, additional_issuers: { ...more, [keyId]: added } }, change: 'added' }
}

function issuerOf(entry: JsonObject): string {
  const list = entry['crl'] ?? null
  const issuer = isJsonObject(list) ? list['issuer'] : undefined
  return typeof issuer === 'string' ? issuer : ''
}

function holds(entry: JsonObject, { publicKey, list }: FollowedIssuer): boolean {
  const anchors = entry['anchors'] ?? null
  return isJsonObject(anchors) && anchors[list.issuer] === publicKey
}

/** Read as often and under the same rules as the list before. */
function newIssuer(entry: JsonObject, { publicKey, list, origin }: FollowedIssuer): JsonObject {
  const taken: Record<string, JsonValue> = {}
  for (const name of ['allow_http', 'freshness', 'refresh_seconds']) {
    const value = entry[name]
    if (value !== undefined) taken[name] = value
  }
  return {
    anchors: { [list.issuer]: publicKey },
    crl: list,
    minimum_crl_sequence: list.sequence,
    crl_url: `${origin}/crl/keys/${encodeURIComponent(list.issuer)}`,
    ...taken,
  }
}

/** From the switch on /crl is the list of the new key: the primary issuer is read under its own address. */
function ownAddress(entry: JsonObject, primary: string): JsonObject {
  const url = entry['crl_url']
  if (typeof url !== 'string' || !url.endsWith('/crl')) return {}
  return { crl_url: `${url}/keys/${encodeURIComponent(primary)}` }
}
