/** So many entries from this number on. */
export interface EntryRange {
  readonly at: number
  readonly count: number
}

/** Entries that stand from this number on in the list after the change. */
export interface AddedEntries<Entry> {
  readonly at: number
  readonly entries: readonly Entry[]
}

/**
 * How one list becomes another: first entries are removed by their numbers in the list before, then entries are added by
 * their numbers in the list after. Both ascend. What stays keeps its order.
 */
export interface ListChange<Entry = string> {
  readonly removed: readonly EntryRange[]
  readonly added: readonly AddedEntries<Entry>[]
}

/** A run of the list after: entries of the list before, or new ones. */
export type ListPiece<Entry> =
  | { readonly kind: 'kept'; readonly at: number; readonly count: number }
  | { readonly kind: 'added'; readonly entries: readonly Entry[] }

/** The list after as pieces. Undefined when the change does not fit a list of so many entries. */
export function piecesOfChange<Entry>(
  count: number,
  { removed, added }: ListChange<Entry>,
): readonly ListPiece<Entry>[] | undefined {
  const kept: EntryRange[] = []
  let next = 0
  for (const { at, count: gone } of removed) {
    if (at < next || gone < 1 || at + gone > count) return undefined
    if (at > next) kept.push({ at: next, count: at - next })
    next = at + gone
  }
  if (next < count) kept.push({ at: next, count: count - next })
  return insertPieces(
    kept.map((range) => ({ kind: 'kept' as const, ...range })),
    added,
  )
}

/** How many entries the pieces have. */
export function countOfPieces(pieces: readonly ListPiece<unknown>[]): number {
  return pieces.reduce((sum, piece) => sum + lengthOf(piece), 0)
}

/** The pieces after one more change. Undefined when it does not fit. */
export function changePieces<Entry>(
  pieces: readonly ListPiece<Entry>[],
  change: ListChange<Entry>,
): readonly ListPiece<Entry>[] | undefined {
  const over = piecesOfChange<Entry>(countOfPieces(pieces), { removed: change.removed, added: [] })
  if (over === undefined) return undefined
  const left: ListPiece<Entry>[] = []
  let [index, start] = [0, 0]
  for (const range of over) {
    if (range.kind !== 'kept') continue
    const end = range.at + range.count
    for (; index < pieces.length; index += 1) {
      const piece = pieces[index]
      if (piece === undefined) break
      const stop = start + lengthOf(piece)
      const [from, to] = [Math.max(range.at, start), Math.min(end, stop)]
      if (from < to) left.push(sliceOf(piece, from - start, to - start))
      // The rest of this piece belongs to the next range.
      if (stop > end) break
      start = stop
    }
  }
  return insertPieces(left, change.added)
}

/** The change that makes these pieces of a list of so many entries. */
export function changeOfPieces<Entry>(count: number, pieces: readonly ListPiece<Entry>[]): ListChange<Entry> {
  const removed: EntryRange[] = []
  const added: { at: number; entries: Entry[] }[] = []
  let [next, at] = [0, 0]
  for (const piece of pieces) {
    if (piece.kind === 'kept') {
      if (piece.at > next) removed.push({ at: next, count: piece.at - next })
      next = piece.at + piece.count
    } else {
      const last = added.at(-1)
      const isNext = last !== undefined && last.at + last.entries.length === at
      const run = isNext ? last : { at, entries: [] }
      if (!isNext) added.push(run)
      for (const entry of piece.entries) run.entries.push(entry)
    }
    at += lengthOf(piece)
  }
  if (next < count) removed.push({ at: next, count: count - next })
  return { removed, added }
}

/** Searches through the list before that find nothing, until an index of it is made. */
const MAX_SEARCHES = 64

/**
 * The change between two lists of texts. Entries that changed their order are removed and added. Most lists only lose and
 * append entries, so an index of all texts, which takes seconds for a large list, is made only for others.
 */
export function changeBetween(before: readonly string[], after: readonly string[]): ListChange {
  const pieces: ListPiece<string>[] = []
  let were: ReadonlySet<string> | undefined
  let [index, misses] = [0, 0]
  for (const text of after) {
    if (before[index] !== text) {
      if (misses === MAX_SEARCHES) were ??= new Set(before)
      const found = were?.has(text) === false ? -1 : before.indexOf(text, index)
      if (found < 0) {
        if (were === undefined && index < before.length) misses += 1
        addText(pieces, text)
        continue
      }
      // What is gone, or has another place now.
      index = found
    }
    addKept(pieces, index)
    index += 1
  }
  return changeOfPieces(before.length, pieces)
}

function addKept(pieces: ListPiece<string>[], at: number): void {
  const last = pieces.at(-1)
  if (last?.kind === 'kept' && last.at + last.count === at)
    pieces[pieces.length - 1] = { ...last, count: last.count + 1 }
  else pieces.push({ kind: 'kept', at, count: 1 })
}

function addText(pieces: ListPiece<string>[], text: string): void {
  pieces.push({ kind: 'added', entries: [text] })
}

function insertPieces<Entry>(
  pieces: readonly ListPiece<Entry>[],
  added: readonly AddedEntries<Entry>[],
): readonly ListPiece<Entry>[] | undefined {
  const out: ListPiece<Entry>[] = []
  const rest = pieces.toReversed()
  let at = 0
  for (const { at: wanted, entries } of added) {
    if (entries.length === 0) return undefined
    while (at < wanted) {
      const piece = rest.pop()
      if (piece === undefined) return undefined
      const length = Math.min(lengthOf(piece), wanted - at)
      out.push(sliceOf(piece, 0, length))
      if (length < lengthOf(piece)) rest.push(sliceOf(piece, length, lengthOf(piece)))
      at += length
    }
    if (at !== wanted) return undefined
    out.push({ kind: 'added', entries })
    at += entries.length
  }
  return [...out, ...rest.toReversed()]
}

function lengthOf(piece: ListPiece<unknown>): number {
  return piece.kind === 'kept' ? piece.count : piece.entries.length
}

function sliceOf<Entry>(piece: ListPiece<Entry>, from: number, to: number): ListPiece<Entry> {
  if (piece.kind === 'kept') return { kind: 'kept', at: piece.at + from, count: to - from }
  return { kind: 'added', entries: piece.entries.slice(from, to) }
}
