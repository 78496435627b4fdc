import { asJson, canonicalJson, isJsonObject } from '@chancery/protocol'
import type { Crl, FormerKey, JsonObject, JsonValue } from '@chancery/protocol'

/** The newest key of a network, signed by the root, with its list. */
export interface FollowedIssuer {
  readonly publicKey: string
  /** A list that this key signed; its issuer is the id of the key. */
  readonly list: Crl
  /** The address of the authority. */
  readonly origin: string
  /** Issuers of the entry whose list the authority does not serve: their keys are retired, or never signed. */
  readonly withoutList: ReadonlySet<string>
  /** Of the key history that the root signed. Records of that time are still shown in the mesh. */
  readonly formerKeys: readonly FormerKey[]
  /** With it a gateway follows later keys by itself. */
  readonly rootKey: string
}

export type Change = 'unchanged' | 'added' | 'promoted' | 'dropped' | 'recorded' | 'pinned'

/** Issuers of an entry that are read from this authority, the primary one first. */
export function issuersOf(entry: JsonObject, origin: string): readonly string[] {
  const isReadThere = (value: JsonValue): boolean => {
    const url = isJsonObject(value) ? value['crl_url'] : undefined
    return typeof url === 'string' && url.startsWith(`${origin}/crl`)
  }
  const more = Object.entries(moreOf(entry)).filter(([, value]) => isReadThere(value))
  return [...(isReadThere(entry) ? [issuerOf(entry)] : []), ...more.map(([keyId]) => keyId)]
}

/**
 * Adds the newest key of a network to its entry; replaces the primary issuer once that is retired. Other issuers
 * without a list are removed: their last list expires, and then the gateway would not be ready.
 */
export function followNetwork(entry: JsonObject, issuer: FollowedIssuer): { entry: JsonObject; change: Change } {
  const keyId = issuer.list.issuer
  const isOver = ([id]: readonly [string, unknown]): boolean => id !== keyId && issuer.withoutList.has(id)
  const over = Object.entries(moreOf(entry)).filter(isOver)
  const saved =
    over.length === 0
      ? entry
      : withMore(
          entry,
          Object.entries(moreOf(entry)).filter((each) => !isOver(each)),
        )
  const followed = pinNewest(saved, issuer)
  const former = withFormer(followed.entry, issuer.formerKeys)
  const isPinned = former['root_public_key'] === issuer.rootKey
  const recorded = isPinned ? former : { ...former, root_public_key: issuer.rootKey }
  if (followed.change !== 'unchanged') return { entry: recorded, change: followed.change }
  if (over.length > 0) return { entry: recorded, change: 'dropped' }
  if (former !== followed.entry) return { entry: recorded, change: 'recorded' }
  return { entry: recorded, change: isPinned ? 'unchanged' : 'pinned' }
}

/** Returns the same entry when it has these keys already. */
function withFormer(entry: JsonObject, formerKeys: readonly FormerKey[]): JsonObject {
  const { former_keys: before = [], ...rest } = entry
  if (canonicalJson(before) === canonicalJson(asJson(formerKeys))) return entry
  return formerKeys.length === 0 ? rest : { ...rest, former_keys: asJson(formerKeys) }
}

function pinNewest(entry: JsonObject, issuer: FollowedIssuer): { entry: JsonObject; change: Change } {
  const keyId = issuer.list.issuer
  const primary = issuerOf(entry)
  const more = moreOf(entry)
  if (primary === keyId && holds(entry, issuer)) return { entry, change: 'unchanged' }
  const listed = Object.hasOwn(more, keyId) ? more[keyId] : undefined
  const known = listed !== undefined && isJsonObject(listed) && holds(listed, issuer) ? listed : undefined
  const added = known ?? newIssuer(entry, issuer)
  if (issuer.withoutList.has(primary)) {
    const others = Object.entries(more).filter(([id]) => id !== keyId)
    return { entry: withMore({ ...entry, ...added }, others), change: 'promoted' }
  }
  const addressed = { ...entry, ...ownAddress(entry, primary) }
  const isSame = known !== undefined && addressed['crl_url'] === entry['crl_url']
  if (isSame) return { entry, change: 'unchanged' }
  return { entry: { ...addressed, additional_issuers: { ...more, [keyId]: added } }, change: 'added' }
}

function moreOf(entry: JsonObject): JsonObject {
  const more = entry['additional_issuers'] ?? null
  return isJsonObject(more) ? more : {}
}

function withMore(entry: JsonObject, more: readonly (readonly [string, JsonValue])[]): JsonObject {
  const { additional_issuers: _before, ...rest } = entry
  return more.length === 0 ? rest : { ...rest, additional_issuers: Object.fromEntries(more) }
}

export function issuerOf(entry: JsonObject): string {
  const list = entry['crl'] ?? null
  const issuer = isJsonObject(list) ? list['issuer'] : undefined
  return typeof issuer === 'string' ? issuer : ''
}

function holds(entry: JsonObject, { publicKey, list }: FollowedIssuer): boolean {
  const anchors = entry['anchors'] ?? null
  return isJsonObject(anchors) && anchors[list.issuer] === publicKey
}

/** Fetched at the same interval and under the same rules as the earlier list. */
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

/** After the switch /crl is the list of the new key, so the primary issuer gets its own address. */
function ownAddress(entry: JsonObject, primary: string): JsonObject {
  const url = entry['crl_url']
  if (typeof url !== 'string' || !url.endsWith('/crl')) return {}
  return { crl_url: `${url}/keys/${encodeURIComponent(primary)}` }
}
