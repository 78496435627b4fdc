import { Refusal } from '@chancery/contract'
import { isJsonObject, readRevocationFeed, shape } from '@chancery/protocol'
import type { JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import { isPublicKeyText, readMember, readOr, refuseUnknownMembers } from '../../reading.ts'

/** Keys an operator vouches for: by id, or as a plain list whose ids do not matter. */
export type SuppliedKeys = { readonly byId: ReadonlyMap<string, string> } | { readonly any: readonly string[] }

export interface ImportRequest {
  readonly feed: RevocationFeed
  readonly supplied: SuppliedKeys | undefined
  readonly expectedIssuer: string | undefined
  readonly acceptJump: boolean
}

/** Checks 1 and 2 of protocol/core 18.3. */
export function readImportRequest(body: JsonObject): ImportRequest {
  refuseUnknownMembers(body, ['feed', 'issuer_public_keys', 'expected_issuer_sovereign_id', 'accept_sequence_jump'])
  const feed = readOr('invalid_sovereign_revocation_feed', () => readRevocationFeed(body['feed'] ?? null))
  const supplied = readSuppliedKeys(body['issuer_public_keys'])
  const expected = body['expected_issuer_sovereign_id']
  if (expected !== undefined && typeof expected !== 'string') throw new Refusal('wrong_issuer')
  const acceptJump = readMember(body['accept_sequence_jump'], false, shape.boolean, 'invalid_input')
  return { feed, supplied, expectedIssuer: expected, acceptJump }
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
