import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'
import { instantOf } from '../reading/text.ts'
import { verifyAny } from '../signing/verify-any.ts'
import { verifySignature } from '../signing/keys.ts'
import type { ListPosition } from './revocation-list.ts'
import { ENTRY_HEAD_LENGTHS, type ScannedList } from './scan-revocation-list.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** As {@link isAuthenticList}, of a list whose entries are no values yet. */
export async function isAuthenticScan(list: ScannedList, anchors: ReadonlyMap<string, Uint8Array>): Promise<boolean> {
  const key = anchors.get(list.issuer)
  const own = list.signatures.filter((signature) => signature.key_id === list.issuer)
  if (key === undefined || list.hasForeignEntry || own.length === 0) return false
  for (const { sig } of own) if (await verifySignature(key, list.signed, sig)) return true
  return false
}

/** As {@link verifyList}, of a list whose entries are no values yet. */
export async function verifyScan(list: ScannedList, keys: readonly string[]): Promise<boolean> {
  return verifyAny(list.signed, list.signatures, keys)
}

/** The whole list in canonical form, signatures included; in memory of the caller's choice, because it may be large. */
export function bytesOfScan<Bytes extends Uint8Array>(list: ScannedList, allocate: (length: number) => Bytes): Bytes {
  const pieces = piecesOfScan(list)
  const out = allocate(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    out.set(piece, at)
    at += piece.length
  }
  return out
}

/** The same in pieces, without a copy of the entries. */
export function piecesOfScan({ signed, signatures }: ScannedList): readonly Uint8Array[] {
  return [signed.subarray(0, -1), toUtf8(`,"signatures":${canonicalJson([...signatures])}}`)]
}

/** As {@link positionOfList}. */
export function positionOfScan({ issuer, sequence, issued_at, next_update, entries }: ScannedList): ListPosition {
  return {
    issuer,
    sequence,
    issuedAt: instantOf(issued_at),
    nextUpdate: instantOf(next_update),
    entriesDigest: sha256Hex(entries),
  }
}

/** The texts of one entry in UTF-8; views of the list where they stand for themselves. */
export interface ScannedEntry {
  readonly id: Uint8Array
  readonly reason: Uint8Array
  readonly revokedAt: Uint8Array
}

/** The entries, one at a time. */
export function* entriesOfScan({ entries, count }: Pick<ScannedList, 'entries' | 'count'>): Generator<ScannedEntry> {
  let at = 1
  for (let number = 0; number < count; number += 1) {
    const texts: Uint8Array[] = []
    for (const head of ENTRY_HEAD_LENGTHS) {
      at += head
      const end = endOfString(entries, at)
      texts.push(unquoted(entries.subarray(at, end)))
      at = end
    }
    // The bracket of the entry, and the comma or bracket behind it.
    at += 2
    const [id = NOTHING, , reason = NOTHING, revokedAt = NOTHING] = texts
    yield { id, reason, revokedAt }
  }
}

/**
 * Returns where entries begin in the bytes of the array, by their numbers, which must ascend. The number of entries itself
 * gives the place behind the last one.
 */
export function placesOfEntries(
  { entries, count }: Pick<ScannedList, 'entries' | 'count'>,
  numbers: readonly number[],
): readonly number[] {
  const places: number[] = []
  let [at, number] = [1, 0]
  for (const wanted of numbers) {
    if (wanted === count) {
      places.push(entries.length - 1)
      continue
    }
    for (; number < wanted; number += 1) at = endOfEntry(entries, at) + 1
    places.push(at)
  }
  return places
}

/** How many entries an array in canonical form has. */
export function countEntries(entries: Uint8Array): number {
  let count = 0
  for (let at = 1; at < entries.length - 1; at = endOfEntry(entries, at) + 1) count += 1
  return count
}

function endOfEntry(entries: Uint8Array, start: number): number {
  let at = start
  for (const head of ENTRY_HEAD_LENGTHS) at = endOfString(entries, at + head)
  return at + 1
}

const NOTHING = new Uint8Array()

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}

/** Canonical form is ASCII, and mostly stands for itself. */
function unquoted(quoted: Uint8Array): Uint8Array {
  if (!quoted.includes(BACKSLASH)) return quoted.subarray(1, -1)
  return toUtf8(JSON.parse(fromUtf8(quoted) ?? '""') as string)
}
