import { setImmediate as nextTurn } from 'node:timers/promises'
import { isLargeTable } from '../../database/large-table.ts'
import { momentOf } from './node-state.ts'
import type { RosterParts } from './parts.ts'
import { findPlaces, markPlaces } from './queries/mark-silent.ts'

/** Statements of one run, at least. A table that needs no more is read by each run. */
const STATEMENTS = 10
/** A larger table is read by so many runs: a minute. */
const RUNS = 6

/** Where the next run goes on, and how much it reads. */
export class MarkPosition {
  /** Places of one statement; as many as the database has for it when left out. */
  readonly atOnce: number | undefined
  readonly statements: number
  next = 0

  constructor({ atOnce, statements = STATEMENTS }: { readonly atOnce?: number; readonly statements?: number } = {}) {
    this.atOnce = atOnce
    this.statements = statements
  }
}

/**
 * Marks nodes that have become silent, so that an index lists them. Heartbeats remove the mark. A small network is read
 * as a whole instead, and needs no marks. Of a table with more than about 100,000 rows each run reads a sixth.
 */
export async function markSilent(
  { activeWindow, database, clock }: RosterParts,
  position: MarkPosition,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isLargeTable(database.read, 'node_liveness'))) return
  const { silentUntil } = momentOf(clock.now(), activeWindow.seconds)
  const all = await findPlaces(database)
  const { statements, atOnce = all.atOnce } = position
  let left = Math.min(all.to - all.from, Math.max(Math.ceil((all.to - all.from) / RUNS), statements * atOnce))
  while (left > 0 && !signal.aborted) {
    const from = position.next < all.from || position.next >= all.to ? all.from : position.next
    const to = Math.min(from + Math.min(atOnce, left), all.to)
    await markPlaces(database, silentUntil, { from, to })
    position.next = to
    left -= to - from
    await nextTurn()
  }
}
