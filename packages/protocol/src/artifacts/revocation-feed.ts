import { compareCodePoints } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { arrayOf, closed, integer, object, readRecord, required, withDefault } from '../reading/shape.ts'
import { identifier, plainText, signatures, timestamp } from '../reading/text.ts'
import { verifyList } from '../signing/verify-any.ts'

/** The ids of one plain feed that we sign; the parts carry all. */
export const MAX_FEED_IDS = 50_000

/** The ids of one plain feed that we read (protocol/core 18.3). */
export const MAX_READ_FEED_IDS = 200_000

/** Longest text of a plain feed: above it reasons are left out, those of the oldest revocations first. */
export const MAX_FEED_BYTES = 6_291_456

/** Order and repetition are the issuer's affair: ids count as a set, and the signature decides. */
const readIds = arrayOf(identifier, { max: MAX_READ_FEED_IDS })
const reason = plainText(256, 0)

export const reasons: Read<{ readonly [id: string]: string }> = (value, field) => {
  const found = object(value, field)
  for (const [id, text] of Object.entries(found)) reason(text, `${field}.${id}`)
  return found as JsonObject & { readonly [id: string]: string }
}

described(reasons, (of) => ({ type: 'object', additionalProperties: of(reason) }))

export const revocationFeedShape = closed({
  feed_id: required(identifier),
  issuer_sovereign_id: required(identifier),
  sequence: required(integer(0, Number.MAX_SAFE_INTEGER)),
  issued_at: required(timestamp),
  revoked_attestation_ids: withDefault(readIds, []),
  revocation_reasons: withDefault(reasons, {}),
  issued_by: required(identifier),
  signatures: withDefault(signatures, []),
})

/** The attestations a sovereign has withdrawn, as one signed list (protocol/core 18.1). */
export type RevocationFeed = ReadBy<typeof revocationFeedShape>

export function readRevocationFeed(value: JsonValue): RevocationFeed {
  const feed = readRecord(revocationFeedShape, value)
  const ids = new Set(feed.revoked_attestation_ids)
  for (const id of Object.keys(feed.revocation_reasons)) {
    if (!ids.has(id)) throw new FormError('revocation_reasons', 'has a reason for an unlisted id')
  }
  return feed
}

/** True when the ids are in the order and without the repetitions in which we write them. */
export function hasSortedIds({
  revoked_attestation_ids: ids,
}: Pick<RevocationFeed, 'revoked_attestation_ids'>): boolean {
  for (let i = 1; i < ids.length; i += 1) if (compareCodePoints(ids[i - 1] ?? '', ids[i] ?? '') >= 0) return false
  return true
}

/** The same feed with sorted, unique ids: what an issuer signed that serves another order. */
export function withSortedIds(feed: RevocationFeed): RevocationFeed {
  const ids = [...new Set(feed.revoked_attestation_ids)].sort(compareCodePoints)
  return { ...feed, revoked_attestation_ids: ids }
}

/** Whether a feed is signed by one of the keys, as received or over its sorted ids (protocol/core 18.3). */
export async function verifyRevocationFeed(feed: RevocationFeed, keys: readonly string[]): Promise<boolean> {
  if (await verifyList(feed, keys)) return true
  return !hasSortedIds(feed) && (await verifyList(withSortedIds(feed), keys))
}

/** Drafts the next feed of a sovereign: ids sorted, with every given reason. */
export function draftRevocationFeed(facts: {
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  /** Null where the reason is left out. */
  readonly reasons: ReadonlyMap<string, string | null>
  readonly issued_by: string
}): RevocationFeed {
  const { reasons: given, ...named } = facts
  const ids = [...given.keys()].sort(compareCodePoints)
  return { ...named, revoked_attestation_ids: ids, revocation_reasons: reasonsById(ids, given), signatures: [] }
}

/** An object by id, in the order of the ids. */
function reasonsById(
  ids: readonly string[],
  given: ReadonlyMap<string, string | null>,
): { readonly [id: string]: string } {
  return Object.fromEntries(
    ids.flatMap((id) => {
      const found = given.get(id)
      return typeof found === 'string' ? [[id, found]] : []
    }),
  )
}
