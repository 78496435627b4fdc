import type { RevocationList } from '../artifacts/crl.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { arrayOf, closed, integer, object, readRecord, required } from '../reading/shape.ts'
import { type EntryRange, type ListChange, countOfPieces, piecesOfChange } from './list-change.ts'
import { MAX_ENTRIES, closeList, openList, scanRevocationList } from './scan-revocation-list.ts'
import type { ListForm, ScannedList } from './scan-revocation-list.ts'
import { placesOfEntries } from './scanned-list.ts'

/** Maximum size of a delta. A larger change is read as the full list. */
export const MAX_DELTA_BYTES = 4_194_304
/** A reader with a smaller list loads the next one in full: a delta would save nothing. */
export const DELTA_FROM_BYTES = 65_536
const MAX_RANGES = 100_000
const LIMITS = { maxDepth: 8, maxValues: 1_000_000, maxNames: 16 }
const [COMMA, OPEN, CLOSE] = [toUtf8(','), toUtf8('['), toUtf8(']')]

/** A delta that is well formed by itself. It proves nothing before the rebuilt list verifies. */
export interface ListDelta {
  readonly fromSequence: number
  /** Members of the new list. Its entries are those the delta adds. */
  readonly list: ScannedList
  readonly removed: readonly EntryRange[]
  /** Where runs of the added entries stand in the new list. */
  readonly added: readonly EntryRange[]
}

/** What a delta is applied to: a list that was verified. */
export type DeltaBase = Pick<ScannedList, 'issuer' | 'sequence' | 'entries' | 'count' | 'hasForeignEntry'>

const place = integer(0, Number.MAX_SAFE_INTEGER)
const readDelta = closed({
  from_sequence: required(place),
  list: required(object),
  removed: required(
    arrayOf(closed({ at: required(place), count: required(integer(1, Number.MAX_SAFE_INTEGER)) }), { max: MAX_RANGES }),
  ),
  added: required(
    arrayOf(
      closed({
        at: required(place),
        entries: required(arrayOf((value: JsonValue) => value, { min: 1, max: MAX_ENTRIES.own })),
      }),
      { max: MAX_RANGES },
    ),
  ),
})

/** The delta, or undefined for bytes that are none. */
export function readListDelta(bytes: Uint8Array, form: ListForm = 'any'): ListDelta | undefined {
  if (bytes.length > MAX_DELTA_BYTES) return undefined
  try {
    const { from_sequence, list, removed, added } = readRecord(readDelta, readJsonBytes(bytes, LIMITS))
    if (Object.hasOwn(list, 'revoked_certificates')) return undefined
    // Read as a list with these entries only: every rule for a list is a rule for a delta.
    const record = { ...list, revoked_certificates: added.flatMap(({ entries }) => entries) }
    const scanned = scanRevocationList(toUtf8(canonicalJson(record)), form)
    if (scanned === undefined) return undefined
    const ranges = added.map(({ at, entries }) => ({ at, count: entries.length }))
    return { fromSequence: from_sequence, list: scanned, removed, added: ranges }
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) return undefined
    throw error
  }
}

/**
 * Rebuilds the new list from exactly its base. Undefined when the delta is of another base or does not fit. The caller
 * verifies the signature of the result as that of any list: a delta has no signature.
 */
export function applyListDelta(
  base: DeltaBase,
  delta: ListDelta,
  form: ListForm = 'any',
  maxBytes: number = Number.MAX_SAFE_INTEGER,
): ScannedList | undefined {
  const { list, removed } = delta
  if (delta.fromSequence !== base.sequence || list.issuer !== base.issuer || list.sequence < base.sequence)
    return undefined
  const change: ListChange<undefined> = {
    removed,
    added: delta.added.map(({ at, count }) => ({ at, entries: Array.from<undefined>({ length: count }) })),
  }
  const pieces = piecesOfChange(base.count, change)
  if (pieces === undefined) return undefined
  const count = countOfPieces(pieces)
  if (count > MAX_ENTRIES[form] || base.entries.length + list.entries.length > maxBytes) return undefined
  const keptRanges = pieces.flatMap((piece) => (piece.kind === 'kept' ? [piece.at, piece.at + piece.count] : []))
  const keptPlaces = placesOfEntries(base, keptRanges)
  const addedCounts = pieces.flatMap((piece) => (piece.kind === 'added' ? [piece.entries.length] : []))
  const addedPlaces = placesOfEntries(list, sumsOf(addedCounts))
  const out = openList(base.entries.length + list.entries.length)
  let [keptAt, addedAt, total] = [0, 0, 0]
  out.add(OPEN)
  for (const piece of pieces) {
    const isKept = piece.kind === 'kept'
    const [source, places, at] = isKept ? [base, keptPlaces, keptAt] : [list, addedPlaces, addedAt]
    if (isKept) keptAt += 2
    else addedAt += 1
    if (total > 0) out.add(COMMA)
    out.add(runOf(source, places[at] ?? 0, places[at + 1] ?? 0))
    total += 1
  }
  out.add(CLOSE)
  const { crl_id, issued_at, issuer, next_update, sequence, signatures } = list
  return {
    crl_id,
    sequence,
    issued_at,
    next_update,
    issuer,
    signatures,
    count,
    ...closeList(out, list, sequence),
    hasForeignEntry: base.hasForeignEntry || list.hasForeignEntry,
  }
}

/** The bytes from one entry to another, without the comma behind them. */
function runOf({ entries }: Pick<ScannedList, 'entries'>, start: number, end: number): Uint8Array {
  return entries.subarray(start, end === entries.length - 1 ? end : end - 1)
}

function sumsOf(counts: readonly number[]): readonly number[] {
  const sums = [0]
  for (const count of counts) sums.push((sums.at(-1) ?? 0) + count)
  return sums
}

/** The members of a list besides its entries. */
export type ListMembers = Omit<RevocationList, 'revoked_certificates'>

/** The text of a delta, from entries in canonical form. */
export function listDeltaText(fromSequence: number, members: ListMembers, { removed, added }: ListChange): string {
  const runs = added.map(({ at, entries }) => `{"at":${at},"entries":[${entries.join(',')}]}`)
  const ranges = removed.map(({ at, count }) => `{"at":${at},"count":${count}}`)
  const { crl_id, issued_at, issuer, next_update, sequence, signatures } = members
  const list = canonicalJson({ crl_id, issued_at, issuer, next_update, sequence, signatures: [...signatures] })
  return `{"added":[${runs.join(',')}],"from_sequence":${fromSequence},"list":${list},"removed":[${ranges.join(',')}]}`
}
