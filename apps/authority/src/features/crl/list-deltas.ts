import {
  MAX_DELTA_BYTES,
  changeOfPieces,
  changePieces,
  instantOf,
  piecesOfChange,
  writeSortable,
} from '@chancery/protocol'
import type { Crl, ListChange } from '@chancery/protocol'
import { SharedRead } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { CrlParts } from './lists.ts'
import { readChange } from './signed-list.ts'

/** Versions that a delta can begin with, at most. */
const MAX_VERSIONS = 4096
const PAGE = 256
/** Pieces that are read for one delta, at most: some milliseconds. Above it the full list costs less. */
const MAX_JOINED = 30_000

interface Version {
  readonly sequence: number
  readonly issued_at: string
  readonly entries: number
  readonly change: ListChange | undefined
  readonly bytes: number
}

/** A version without its change; `bytes` is the size of that. */
type VersionSize = Pick<Version, 'sequence' | 'issued_at' | 'entries'> & { readonly bytes: number | null }

/**
 * The changes of the latest versions, as many as one delta may have. They are read once per version, so that a delta from
 * any version costs no read of a list.
 */
export class ListDeltas {
  readonly #parts: Pick<CrlParts, 'database'>
  /** By sequence, newest first and without a gap. */
  #versions: readonly Version[] = []
  readonly #read = new SharedRead(() => this.#readNew())

  constructor(parts: Pick<CrlParts, 'database'>) {
    this.#parts = parts
  }

  /** How the list `from` became the served list. Undefined when `from` is too old, or unknown. */
  async between(from: number, served: Pick<Crl, 'sequence' | 'issued_at'>): Promise<ListChange | undefined> {
    const { sequence: to } = served
    const newestRead = this.#versions[0]
    // A failover may have lost the version that was read, and given its number to the served one.
    if (newestRead?.sequence !== to || newestRead.issued_at !== writeSortable(instantOf(served.issued_at)))
      await this.#read.read()
    const versions = this.#versions
    const newest = versions[0]?.sequence
    if (newest === undefined || newest < to) return undefined
    const base = versions[newest - from]
    if (base?.sequence !== from) return undefined
    const steps: ListChange[] = []
    for (let sequence = from + 1; sequence <= to; sequence += 1) {
      const change = versions[newest - sequence]?.change
      if (change === undefined) return undefined
      steps.push(change)
    }
    return joinChanges(base.entries, steps)
  }

  async #readNew(): Promise<void> {
    const known = this.#versions
    const fresh: Version[] = []
    let [bytes, below, isEnough] = [0, Number.MAX_SAFE_INTEGER, false]
    while (!isEnough) {
      const page = await this.#page(below)
      const unknown: VersionSize[] = []
      let followed: readonly Version[] | undefined
      for (const row of page) {
        const index = known.findIndex(({ sequence }) => sequence === row.sequence)
        // A failover may have lost a version and given its number to another, so its time must agree, too.
        followed = index >= 0 && known[index]?.issued_at === row.issued_at ? known.slice(index) : undefined
        if (followed !== undefined) break
        bytes += row.bytes ?? 0
        isEnough = row.bytes === null || bytes > MAX_DELTA_BYTES || fresh.length + unknown.length >= MAX_VERSIONS
        unknown.push(row)
        if (isEnough) break
      }
      for (const version of await this.#withChanges(unknown, isEnough)) fresh.push(version)
      if (followed !== undefined) {
        this.#versions = bounded([...fresh, ...followed])
        return
      }
      isEnough ||= page.length < PAGE
      below = page.at(-1)?.sequence ?? 0
    }
    this.#versions = bounded(fresh)
  }

  /** Without the changes: those of one page may be a thousand times as large as a delta. */
  #page(below: number): Promise<VersionSize[]> {
    return this.#parts.database.read
      .selectFrom('crl_versions')
      .select(['sequence', 'issued_at', 'entries', sql<number | null>`octet_length(change_json)`.as('bytes')])
      .where('sequence', '<', below)
      .orderBy('sequence', 'desc')
      .limit(PAGE)
      .execute()
  }

  /** Reads the changes. The last version of a delta is only its start: its change is not read. */
  async #withChanges(rows: readonly VersionSize[], isStart: boolean): Promise<readonly Version[]> {
    const needed = isStart ? rows.slice(0, -1) : rows
    const [newest, oldest] = [needed[0], needed.at(-1)]
    const changes = new Map<number, string | null>()
    if (newest !== undefined && oldest !== undefined)
      for (const { sequence, change_json } of await this.#parts.database.read
        .selectFrom('crl_versions')
        .select(['sequence', 'change_json'])
        .where('sequence', '<=', newest.sequence)
        .where('sequence', '>=', oldest.sequence)
        .execute())
        changes.set(sequence, change_json)
    return rows.map((row) => ({
      ...row,
      change: readChange(changes.get(row.sequence) ?? null),
      bytes: row.bytes ?? 0,
    }))
  }
}

/** The newest versions whose changes fit a delta. The oldest of them is only a start, so it needs no change. */
function bounded(versions: readonly Version[]): readonly Version[] {
  let bytes = 0
  for (const [index, { sequence, change, bytes: more }] of versions.entries()) {
    bytes += more
    const isLast = change === undefined || bytes > MAX_DELTA_BYTES || index === MAX_VERSIONS
    if (isLast || versions[index + 1]?.sequence !== sequence - 1) return versions.slice(0, index + 1)
  }
  return versions
}

/** One change in place of several. Undefined when they do not fit each other (a row was edited), or cost too much. */
export function joinChanges(count: number, steps: readonly ListChange[]): ListChange | undefined {
  let pieces = piecesOfChange<string>(count, { removed: [], added: [] })
  let joined = 0
  for (const step of joinAppended(steps)) {
    joined += (pieces?.length ?? 0) + step.removed.length + step.added.length
    if (joined > MAX_JOINED) return undefined
    pieces = pieces && changePieces(pieces, step)
  }
  return pieces && changeOfPieces(count, pieces)
}

/** Most versions only append. Those in a row become one change, so that the time does not grow with their square. */
function joinAppended(steps: readonly ListChange[]): readonly ListChange[] {
  const joined: ListChange[] = []
  let last: { at: number; entries: string[] } | undefined
  for (const step of steps) {
    const [added, ...more] = step.added
    const isOne = step.removed.length === 0 && more.length === 0
    if (isOne && added === undefined) continue
    if (isOne && added !== undefined && last !== undefined && added.at === last.at + last.entries.length) {
      for (const entry of added.entries) last.entries.push(entry)
      continue
    }
    last = isOne && added !== undefined ? { at: added.at, entries: [...added.entries] } : undefined
    joined.push(last === undefined ? step : { removed: [], added: [last] })
  }
  return joined
}
