import { Refusal, revocationFeeds } from '@chancery/contract'
import {
  FormError,
  isJsonObject,
  isPartOf,
  readFeedIndex,
  readFeedPart,
  readRevocationFeed,
  shape,
} from '@chancery/protocol'
import type { FeedIndex, FeedPart, JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import { isPublicKeyText, readMember, readOrRefuse, refuseUnknownMembers } from '../../requests/read-fields.ts'

/** Keys that an operator supplies: by id, or as a plain list whose ids do not matter. */
export type SuppliedKeys = { readonly byId: ReadonlyMap<string, string> } | { readonly any: readonly string[] }

/** A plain feed, or its index with some of the parts. */
export type Imported =
  | { readonly feed: RevocationFeed }
  | { readonly index: FeedIndex; readonly parts: readonly FeedPart[] }

export interface ImportRequest {
  readonly imported: Imported
  readonly supplied: SuppliedKeys | undefined
  readonly expectedIssuer: string | undefined
  readonly acceptJump: boolean
}

/** Maximum number of parts in one request. A whole feed is sent in several. */
const MAX_PARTS = 16

/** Checks 1 and 2 of protocol/core 18.3. */
export function readImportRequest(body: JsonObject): ImportRequest {
  refuseUnknownMembers(body, revocationFeeds.import.body.names)
  const imported = readOrRefuse('invalid_sovereign_revocation_feed', () => readImported(body))
  const supplied = readSuppliedKeys(body['issuer_public_keys'])
  const expected = body['expected_issuer_sovereign_id']
  if (expected !== undefined && typeof expected !== 'string') throw new Refusal('wrong_issuer')
  const acceptJump = readMember(body['accept_sequence_jump'], false, shape.boolean, 'invalid_input')
  return { imported, supplied, expectedIssuer: expected, acceptJump }
}

function readImported(body: JsonObject): Imported {
  if (body['index'] === undefined && body['parts'] === undefined)
    return { feed: readRevocationFeed(body['feed'] ?? null) }
  if (body['feed'] !== undefined) throw new FormError('feed', 'is given together with an index')
  const index = readFeedIndex(body['index'] ?? null)
  const parts = shape.arrayOf(readFeedPart, { min: 1, max: MAX_PARTS })(body['parts'] ?? null, 'parts')
  if (new Set(parts.map(({ part }) => part)).size !== parts.length) throw new FormError('parts', 'names a part twice')
  if (!parts.every((part) => isPartOf(part, index))) throw new FormError('parts', 'is not in this index')
  return { index, parts }
}

function readSuppliedKeys(value: JsonValue | undefined): SuppliedKeys | undefined {
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value)) {
    if (value.length > 64 || !value.every(isPublicKeyText)) throw new Refusal('invalid_public_keys')
    return value.length === 0 ? undefined : { any: value }
  }
  if (!isJsonObject(value)) throw new Refusal('invalid_public_keys')
  const entries = Object.entries(value)
  if (entries.length > 64 || !entries.every(([, key]) => isPublicKeyText(key))) throw new Refusal('invalid_public_keys')
  return entries.length === 0 ? undefined : { byId: new Map(entries as [string, string][]) }
}
