import { compareCodePoints } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { FormError } from '../reading/form-error.ts'
import { described } from '../reading/schema.ts'
import { arrayOf, closed, integer, object, readRecord, required, withDefault } from '../reading/shape.ts'
import type { Read } from '../reading/shape.ts'
import { identifier, plainText, signatures, timestamp } from '../reading/text.ts'
import type { Signature } from '../signing/forms.ts'

export const MAX_FEED_IDS = 50_000

/** Every attestation a sovereign has withdrawn, as one signed list (protocol/core 18.1). */
export type RevocationFeed = {
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly revoked_attestation_ids: readonly string[]
  readonly revocation_reasons: { readonly [id: string]: string }
  readonly issued_by: string
  readonly signatures: readonly Signature[]
}

const readIds = arrayOf(identifier, { max: MAX_FEED_IDS })
const reason = plainText(256, 0)

/** The signed form is the sorted one; another order would be a second text for the same facts. */
const sortedIds: Read<readonly string[]> = (value, field) => {
  const ids = readIds(value, field)
  for (let i = 1; i < ids.length; i += 1) {
    if (compareCodePoints(ids[i - 1] ?? '', ids[i] ?? '') >= 0) throw new FormError(field, 'is not sorted and unique')
  }
  return ids
}

described(sortedIds, (of) => ({ ...of(readIds), uniqueItems: true, $comment: 'Sorted by code points.' }))

const reasons: Read<{ readonly [id: string]: string }> = (value, field) => {
  const found = object(value, field)
  for (const [id, text] of Object.entries(found)) reason(text, `${field}.${id}`)
  return found as JsonObject & { readonly [id: string]: string }
}

described(reasons, (of) => ({ type: 'object', additionalProperties: of(reason) }))

export const revocationFeedShape: Read<RevocationFeed> = closed({
  feed_id: required(identifier),
  issuer_sovereign_id: required(identifier),
  sequence: required(integer(0, Number.MAX_SAFE_INTEGER)),
  issued_at: required(timestamp),
  revoked_attestation_ids: withDefault(sortedIds, []),
  revocation_reasons: withDefault(reasons, {}),
  issued_by: required(identifier),
  signatures: withDefault(signatures, []),
})

export function readRevocationFeed(value: JsonValue): RevocationFeed {
  const feed = readRecord(revocationFeedShape, value)
  const ids = new Set(feed.revoked_attestation_ids)
  for (const id of Object.keys(feed.revocation_reasons)) {
    if (!ids.has(id)) throw new FormError('revocation_reasons', 'gives a reason for an id that is not listed')
  }
  return feed
}

/** The next feed of a sovereign: ids sorted, every given reason kept. */
export function draftRevocationFeed(facts: {
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly reasons: ReadonlyMap<string, string>
  readonly issued_by: string
}): RevocationFeed {
  const { reasons: given, ...named } = facts
  const ids = [...given.keys()].sort(compareCodePoints)
  const byId = Object.fromEntries(ids.map((id) => [id, given.get(id) ?? 'unspecified']))
  return { ...named, revoked_attestation_ids: ids, revocation_reasons: byId, signatures: [] }
}
