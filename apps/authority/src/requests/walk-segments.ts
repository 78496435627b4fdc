import { Refusal } from '@chancery/contract'
import { isPlainText } from '@chancery/protocol'
import type { Candidate, Position } from '../database/index-source.ts'
import { writeCursor } from './paging.ts'

export interface WalkPosition<Name extends string> extends Position {
  readonly segment: Name
}

/** A list that several indexes give, one after the other. */
export interface SegmentWalk<Name extends string, Row> {
  readonly segments: readonly Name[]
  /** Reads the next candidates of a segment, in the order of its index. */
  readCandidates(
    segment: Name,
    bounds: { readonly after: Position | undefined; readonly limit: number },
  ): Promise<readonly Candidate[]>
  /** Reads the rows of candidates by key. */
  readRows(keys: readonly string[]): Promise<ReadonlyMap<string, Row>>
  /** False for a row that another segment gives, and for one that a filter leaves out. */
  accepts(segment: Name, candidate: Candidate, row: Row): boolean
}

export interface WalkedPage<Name extends string, Row> {
  readonly rows: readonly Row[]
  /** Where the next page begins; undefined at the end. */
  readonly next: WalkPosition<Name> | undefined
}

/** Candidates that one page reads at most. A page with a filter may have fewer rows than its limit. */
const READ_AT_ONCE = 1000
const FIRST_CHUNK = 100
const MAX_CHUNK = 500

/** Reads segments from a position on until the page is full, in chunks. */
export async function walkSegments<Name extends string, Row>(
  walk: SegmentWalk<Name, Row>,
  { limit, after }: { readonly limit: number; readonly after: WalkPosition<Name> | undefined },
  readAtOnce: number = READ_AT_ONCE,
): Promise<WalkedPage<Name, Row>> {
  const rows = new Map<string, Row>()
  const first = after === undefined ? 0 : walk.segments.indexOf(after.segment)
  let looked = 0
  let last = after
  for (const segment of walk.segments.slice(first)) {
    let place: Position | undefined = segment === after?.segment ? after : undefined
    // A filter that fits few rows reads larger chunks.
    for (let isEnd = false, size = Math.max(limit, FIRST_CHUNK); !isEnd; size = Math.max(size, MAX_CHUNK)) {
      const chunk = Math.min(readAtOnce - looked, size)
      const candidates = await walk.readCandidates(segment, { after: place, limit: chunk })
      const found = await walk.readRows([...new Set(candidates.map(({ key }) => key))])
      for (const candidate of candidates) {
        const row = found.get(candidate.key)
        if (row !== undefined && walk.accepts(segment, candidate, row)) {
          // One more row than asked for: the page ends before it.
          if (rows.size === limit && !rows.has(candidate.key)) return { rows: [...rows.values()], next: last }
          rows.set(candidate.key, row)
        }
        place = candidate
        last = { segment, at: candidate.at, id: candidate.id }
      }
      looked += candidates.length
      isEnd = candidates.length < chunk
      if (looked >= readAtOnce && !isEnd) return { rows: [...rows.values()], next: last }
    }
    // The bound was reached with the end of a segment.
    if (looked >= readAtOnce)
      return { rows: [...rows.values()], next: walk.segments.at(-1) === segment ? undefined : last }
  }
  return { rows: [...rows.values()], next: undefined }
}

export function writeWalkCursor(next: WalkPosition<string> | undefined): string | null {
  return next === undefined ? null : writeCursor(`${next.segment}|${next.at.length}|${next.at}${next.id}`)
}

/** The position of a cursor. One of another order or search is refused. */
export function readWalkPosition<Name extends string>(
  text: string | undefined,
  segments: readonly Name[],
): WalkPosition<Name> | undefined {
  if (text === undefined) return undefined
  const [, name = '', length = '', rest = ''] = /^([a-z-]{1,20})\|(\d{1,4})\|(.{1,700})$/su.exec(text) ?? []
  const segment = segments.find((each) => each === name)
  const [at, id] = [rest.slice(0, Number(length)), rest.slice(Number(length))]
  if (segment === undefined || ![at, id].every((each) => isPlainText(each, 400))) throw new Refusal('invalid_page')
  return { segment, at, id }
}
