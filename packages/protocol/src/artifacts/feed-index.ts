import { digestOf, sha256 } from '../canonical/digest.ts'
import { type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { FormError, type ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, integer, readRecord, required, withDefault } from '../reading/shape.ts'
import { digest, identifier, signatures, timestamp } from '../reading/text.ts'
import { MAX_READ_FEED_IDS, hasSortedIds, reasons } from './revocation-feed.ts'

/** The most ids a sovereign may have in its feed: 256 parts of 8192. */
export const MAX_FEED_TOTAL_IDS = 2_000_000

/** Longest text of a part: above it reasons are left out, those of the oldest revocations first. */
export const MAX_PART_BYTES = 3_145_728

const MAX_PART_BITS = 8

const whole = required(integer(0, Number.MAX_SAFE_INTEGER))
const bits = required(integer(0, MAX_PART_BITS))
const number = required(integer(0, 2 ** MAX_PART_BITS - 1))

const partEntry = closed({ part: number, count: whole, digest: required(digest) })

export type FeedPartEntry = ReadBy<typeof partEntry>

export const feedIndexShape = closed({
  index_id: required(identifier),
  issuer_sovereign_id: required(identifier),
  issued_by: required(identifier),
  sequence: whole,
  issued_at: required(timestamp),
  total_ids: whole,
  part_bits: bits,
  parts: required(arrayOf(partEntry, { max: 2 ** MAX_PART_BITS })),
  signatures: withDefault(signatures, []),
})

/** Names every part of a feed by its digest (protocol/core 18.4): published with every version of the plain form. */
export type FeedIndex = ReadBy<typeof feedIndexShape>

/** An index names every part once, by number, and its counts add up: a reader must know when it has all. */
export function readFeedIndex(value: JsonValue): FeedIndex {
  const index = readRecord(feedIndexShape, value)
  const isWhole = index.parts.length === 2 ** index.part_bits && index.parts.every(({ part }, at) => part === at)
  if (!isWhole) throw new FormError('parts', 'does not name every part once, by number')
  if (index.parts.reduce((sum, { count }) => sum + count, 0) !== index.total_ids)
    throw new FormError('total_ids', 'is not the sum of the parts')
  return index
}

export const feedPartShape = closed({
  issuer_sovereign_id: required(identifier),
  part: number,
  part_bits: bits,
  revoked_attestation_ids: required(arrayOf(identifier, { max: MAX_READ_FEED_IDS })),
  revocation_reasons: withDefault(reasons, {}),
})

/** The ids whose hash begins with the number of the part. Not signed: its digest is in the signed index. */
export type FeedPart = ReadBy<typeof feedPartShape>

/** A part whose ids are sorted, unique and really belong to it. */
export function readFeedPart(value: JsonValue): FeedPart {
  const part = readRecord(feedPartShape, value)
  if (part.part >= 2 ** part.part_bits) throw new FormError('part', 'is not a number of this many bits')
  if (!hasSortedIds(part)) throw new FormError('revoked_attestation_ids', 'is not sorted and unique')
  const ids = new Set(part.revoked_attestation_ids)
  for (const id of Object.keys(part.revocation_reasons))
    if (!ids.has(id)) throw new FormError('revocation_reasons', 'has a reason for an unlisted id')
  for (const id of ids)
    if (partOf(id, part.part_bits) !== part.part)
      throw new FormError('revoked_attestation_ids', 'holds an id of another part')
  return part
}

/** The first byte of SHA-256 of an id: its first bits are the number of its part, however many parts there are. */
export function partKey(attestation_id: string): number {
  return sha256(toUtf8(attestation_id))[0] ?? 0
}

export function partOf(attestation_id: string, part_bits: number): number {
  return partKey(attestation_id) >>> (MAX_PART_BITS - part_bits)
}

/** The part keys that belong to a part: from the first, below the second. */
export function partKeysOf(part: number, part_bits: number): readonly [number, number] {
  const width = 2 ** (MAX_PART_BITS - part_bits)
  return [part * width, (part + 1) * width]
}

/** How many bits number the parts of so many ids: grows at once, falls by one and late, so that parts stay what they are. */
export function nextPartBits(totalIds: number, current: number): number {
  let next = current
  while (next < MAX_PART_BITS && totalIds > 8192 * 2 ** next) next += 1
  return next === current && next > 0 && totalIds <= 2048 * 2 ** next ? next - 1 : next
}

export function digestOfPart(part: FeedPart): string {
  return digestOf(part)
}

/** Whether a part is the one that the index names. */
export function isPartOf(part: FeedPart, index: FeedIndex): boolean {
  const entry = index.parts[part.part]
  return (
    part.issuer_sovereign_id === index.issuer_sovereign_id &&
    part.part_bits === index.part_bits &&
    entry?.count === part.revoked_attestation_ids.length &&
    entry.digest === digestOfPart(part)
  )
}
