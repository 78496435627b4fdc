import { NODE_STATES, type NodeState } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Clock, Query } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { isLargeTable } from '../../database/large-tables.ts'
import { readChoiceFilter, readPage, readTextFilter, readTimeFilter } from '../../requests/paging.ts'
import { readWalkPosition, writeWalkCursor } from '../../requests/walk-segments.ts'
import { foldLabel } from '../enrollment/index.ts'
import { type RosterParts, momentOf } from './mark-silent.job.ts'
import type { NodeCounts } from './queries/counts.ts'
import { type NodeRow, viewNode } from './queries/rows.ts'
import { type SegmentName, beginsId } from './queries/segments.ts'
import { walkNodes } from './walk.ts'
import { setTimeout as pause } from 'node:timers/promises'

/** A caller waits this long for counts of a large network. */
const WAIT_MS = 100
/** Counts of a large network are counted again after this time, or later when counting takes long. */
const FRESH_MS = 5000
/** Counting takes a fiftieth of the time at most: the database has other work. */
const REST_FACTOR = 50
const MAX_FRESH_MS = 30_000
/** Older counts are not used. */
const MAX_AGE_MS = 60_000

/**
 * Counts of nodes. In a small network every caller gets fresh ones. In a large one counting takes longer than a page may
 * take: callers get the last counts, and one of them causes the next. Without calls nothing is counted.
 */
export class NodeCounter {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #count: () => Promise<NodeCounts>
  #last: { readonly counts: NodeCounts; readonly at: number; readonly freshMs: number } | undefined
  #running: Promise<NodeCounts> | undefined

  constructor(clock: Pick<Clock, 'monotonicMs'>, count: () => Promise<NodeCounts>) {
    this.#clock = clock
    this.#count = count
  }

  /** Undefined when the counts of a large network are not ready. */
  async read(isLarge: boolean): Promise<NodeCounts | undefined> {
    if (!isLarge) return this.#count()
    if (this.#last !== undefined && this.#ageMs() < this.#last.freshMs) return this.#last.counts
    const running = this.#refresh()
    const stop = new AbortController()
    const waited = pause(WAIT_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    const counts = await Promise.race([running, waited]).finally(() => stop.abort())
    return counts ?? (this.#ageMs() < MAX_AGE_MS ? this.#last?.counts : undefined)
  }

  #ageMs(): number {
    return this.#last === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#last.at
  }

  #refresh(): Promise<NodeCounts> {
    const began = this.#clock.monotonicMs()
    this.#running ??= this.#count()
      .then((counts) => {
        const at = this.#clock.monotonicMs()
        const freshMs = Math.min(Math.max(FRESH_MS, (at - began) * REST_FACTOR), MAX_FRESH_MS)
        this.#last = { counts, at, freshMs }
        return counts
      })
      .finally(() => {
        this.#running = undefined
      })
    // The failure must not be unhandled when no caller waits for it.
    this.#running.catch(() => undefined)
    return this.#running
  }
}

/** The parts of the feature and its own state. */
interface RosterState extends RosterParts {
  readonly counter: NodeCounter
}

const SORTS = ['attention', 'newest', 'ends', 'label'] as const
type Sort = (typeof SORTS)[number]

/** Rows when the caller does not say how many. */
const DEFAULT_ROWS = 50

interface Filter {
  readonly state: NodeState | undefined
  readonly role: string | undefined
  readonly q: string | undefined
  readonly hasAgent: boolean | undefined
  readonly joinedSince: string | undefined
  readonly sort: Sort
}

/**
 * GET /admin/nodes
 * Lists node keys by their newest certificate. Every order and search is served by an index; other filters are applied
 * to a bounded number of nodes, so such a page may have fewer rows, and its cursor continues.
 */
export async function list(call: OperatorCall, parts: RosterState): Promise<JsonObject> {
  const filter = readFilter(call.query)
  const page = readPage(call.query, DEFAULT_ROWS)
  const segments = segmentsOf(filter)
  const after = readWalkPosition(page.after, segments)
  const isLarge = await isLargeTable(parts.database.read, 'node_liveness')
  const { q = '', joinedSince } = filter
  const plan = {
    moment: momentOf(parts.clock.now(), parts.activeWindow.seconds),
    isLarge,
    joinedSince,
    q,
    folded: foldLabel(q),
    segments,
    matches: (row: NodeRow) => matches(row, filter),
  }
  const { rows, next } = await walkNodes(parts.database, plan, { limit: page.limit, after })
  const counts = await parts.counter.read(isLarge)
  return {
    count: rows.length,
    nodes: rows.map(viewNode),
    next_cursor: writeWalkCursor(next),
    total: totalOf(filter, after === undefined && next === undefined ? rows.length : undefined, counts),
    counts: counts === undefined ? null : viewCounts(counts),
  }
}

function totalOf(
  { state, role, q, hasAgent, joinedSince }: Filter,
  whole: number | undefined,
  counts: NodeCounts | undefined,
): number | null {
  if (whole !== undefined) return whole
  const isNarrowed = [role, q, hasAgent, joinedSince].some((value) => value !== undefined)
  const known = counts?.[state ?? 'all']
  return isNarrowed || known === undefined || known.more ? null : known.count
}

function viewCounts(counts: NodeCounts): JsonObject {
  return Object.fromEntries(Object.entries(counts).map(([name, { count, more }]) => [name, { count, more }]))
}

function readFilter(query: Query): Filter {
  const hasAgent = readChoiceFilter(query, 'has_agent', ['true', 'false'])
  return {
    state: readChoiceFilter(query, 'state', NODE_STATES),
    role: readTextFilter(query, 'role'),
    q: readTextFilter(query, 'q'),
    hasAgent: hasAgent === undefined ? undefined : hasAgent === 'true',
    joinedSince: readTimeFilter(query, 'joined_since'),
    sort: readChoiceFilter(query, 'sort', SORTS) ?? 'attention',
  }
}

/** The indexes that give the nodes in the order asked for, with the fewest others. */
function segmentsOf({ state, q, hasAgent, joinedSince, sort }: Filter): readonly SegmentName[] {
  if (q !== undefined)
    return ['q-label', 'q-key', ...(beginsId(q) ? (['q-certificate'] as const) : []), 'q-agent', 'q-address']
  if (sort === 'label') return ['label', 'newest']
  if (sort === 'ends') return state === 'expired' ? ['expired'] : ['ending', 'expired']
  switch (state) {
    case 'revoked':
    case 'superseded':
      return [state]
    case 'silent':
    case 'expired':
      if (sort === 'attention') return [state]
      break
    case 'ends_soon':
      if (sort === 'attention') return ['ends']
      break
    case 'active':
    case undefined:
  }
  if (joinedSince !== undefined) return ['newest']
  if (hasAgent === true) return ['agents']
  return sort === 'newest' || state !== undefined ? ['newest'] : ['silent', 'ends', 'label', 'newest']
}

function matches(row: NodeRow, { state, role, hasAgent, joinedSince }: Filter): boolean {
  return (
    (state === undefined || row.state === state) &&
    (role === undefined || row.roles.includes(role)) &&
    (hasAgent === undefined || (row.agent_id !== null) === hasAgent) &&
    (joinedSince === undefined || row.joined_at >= joinedSince)
  )
}
