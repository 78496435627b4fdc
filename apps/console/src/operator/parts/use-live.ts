import type { ChangeTopic } from '@chancery/contract'
import { useEffect, useRef, useState } from 'preact/hooks'
import { heardAt, isFollowing } from '../changes.ts'
import type { CallError } from '../client.ts'
import { createStore } from '../router.ts'
import { type Cause, Poll } from './polling.ts'

/** What a list shows, and how many rows wait to be shown. */
export interface MergedRows<Row> {
  readonly rows: readonly Row[]
  readonly newer: number
}

/**
 * Changes shown rows in place. New rows would move what an operator reads, so they are counted, except below the last row.
 * A missing row is gone, or was pushed to the next page by new rows.
 */
export function mergeRows<Row>(
  shown: readonly Row[],
  fresh: readonly Row[],
  rowId: (row: Row) => string,
  limit: number,
): MergedRows<Row> {
  const [before, after] = [idsOf(shown, rowId), new Map(fresh.map((row) => [rowId(row), row]))]
  const lastInFresh = fresh.findLastIndex((row) => before.has(rowId(row)))
  const lastInShown = shown.findLastIndex((row) => after.has(rowId(row)))
  const isNew = (row: Row): boolean => !before.has(rowId(row))
  // Without a common row everything was replaced.
  const newer = (lastInFresh < 0 ? fresh : fresh.slice(0, lastInFresh)).filter(isNew).length
  const isPushed = newer > 0 && fresh.length >= limit
  const rows = shown.flatMap((row, index) => {
    const found = after.get(rowId(row))
    if (found !== undefined) return [found]
    return isPushed && index > lastInShown ? [row] : []
  })
  if (newer > 0) return { rows, newer }
  return { rows: [...rows, ...fresh.slice(lastInFresh + 1)], newer }
}

function idsOf<Row>(rows: readonly Row[], rowId: (row: Row) => string): ReadonlySet<string> {
  return new Set(rows.map((row) => rowId(row)))
}

/** «1 newer decision», «12 newer decisions», from the plural name of the list. */
export function newerText(count: number, name: string): string {
  const plural = name.toLowerCase()
  const noun = count === 1 ? plural.replace(/ies$/, 'y').replace(/s$/, '') : plural
  return `${count.toLocaleString('en')} newer ${noun}`
}

/** For summaries of everything: they are costly for the authority, and every change may be in them. */
export const SUMMARY_GAP_MS = 10_000
const STALE_MS = 45_000
/** Before this time an empty page is calmer than one that flashes. */
const SLOW_MS = 200

export interface LiveValue<Value> {
  readonly value: Value | undefined
  /** Why the last read failed; the value before it stays. */
  readonly problem: CallError | undefined
  /** When the value was read, or the authority stated that nothing changed. */
  readonly readAt: number | undefined
  readonly isStale: boolean
  /** True when the first answer takes longer than 200 ms. */
  readonly isSlow: boolean
  /** When it is read again, after a failure. */
  readonly nextAt: number | undefined
  /** Whether the user asked for the last read. */
  readonly cause: Cause
  reload(): void
}

/** Set by the key R and by actions that changed something: every shown value is read again. */
export const reloads = createStore(0)
export const reloadAll = (): void => reloads.set(reloads.get() + 1)

interface Held<Value> {
  readonly value?: Value | undefined
  readonly problem?: CallError | undefined
  readonly readAt?: number
  readonly nextAt?: number
  readonly cause?: Cause
}

export interface LiveOptions {
  /** Milliseconds between two reads that follow changes. */
  readonly gapMs?: number
  /** True when the value changes with time, too, or by commands on the host. */
  readonly isTimed?: boolean
  /** True when the value is read again for its user only. */
  readonly isOnce?: boolean
}

/**
 * Reads a value, and reads it again after a change of its topics, or every 15 seconds without topics or without reports
 * of changes. Stops while the page is hidden. `key` names what is read: another key begins again.
 */
export function useLive<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  topics: readonly ChangeTopic[] = [],
  { gapMs, isTimed, isOnce }: LiveOptions = {},
): LiveValue<Value> {
  const [held, setHeld] = useState<Held<Value>>({})
  const [isSlow, setSlow] = useState(false)
  const [, renderAgain] = useState(0)
  const run = useRef<() => void>(() => undefined)
  useEffect(() => {
    const abort = new AbortController()
    setHeld({})
    setSlow(false)
    const slow = setTimeout(() => setSlow(true), SLOW_MS)
    const polling = new Poll({
      load: () => load(abort.signal),
      onValue: (value, cause) => {
        clearTimeout(slow)
        setHeld({ value, readAt: Date.now(), cause })
      },
      onProblem: (problem, nextAt) => {
        clearTimeout(slow)
        setHeld((before) => ({ ...before, problem, nextAt }))
      },
      topics,
      gapMs,
      isTimed,
      isOnce,
    })
    run.current = () => polling.now()
    const endReloads = reloads.subscribe(run.current)
    const ager = setInterval(() => renderAgain((count) => count + 1), STALE_MS / 3)
    return () => {
      abort.abort()
      clearTimeout(slow)
      clearInterval(ager)
      endReloads()
      polling.end()
    }
  }, [key])
  const readAt = topics.length === 0 ? held.readAt : freshAt(held)
  return {
    value: held.value,
    problem: held.problem,
    readAt,
    nextAt: held.nextAt,
    cause: held.cause ?? 'user',
    isSlow: isSlow && held.readAt === undefined && held.problem === undefined,
    isStale: readAt !== undefined && Date.now() - readAt > STALE_MS,
    reload: () => run.current(),
  }
}

/** A value without a reported change is as new as the last report. */
function freshAt({ readAt, problem }: Held<unknown>): number | undefined {
  if (readAt === undefined || problem !== undefined || !isFollowing.get()) return readAt
  return Math.max(readAt, heardAt())
}

/** Rows of a list as read. */
export interface ListPage<Row> {
  readonly rows: readonly Row[]
  readonly nextCursor: string | null
  /** Exact, or undefined when the authority does not count. */
  readonly total?: number
}

export interface ShownPage<Row> {
  readonly page: ListPage<Row> | undefined
  /** Rows that were read and are not shown yet. */
  readonly newer: number
  /** Shows the page as it was read last. */
  readonly showNewer: () => void
}

interface Shown<Row> {
  key: string
  /** The page as read. */
  read: ListPage<Row> | undefined
  page: ListPage<Row> | undefined
  newer: number
}

/** The page that a list shows: as read for its user, and changed in place by later reads. */
export function useShown<Row>(
  key: string,
  live: LiveValue<ListPage<Row>>,
  rowId: (row: Row) => string,
  limit: number,
): ShownPage<Row> {
  const shown = useRef<Shown<Row>>({ key, read: undefined, page: undefined, newer: 0 })
  const [, renderAgain] = useState(0)
  const state = shown.current
  const { value } = live
  if (state.key !== key || state.read !== value) {
    const isOther = state.key !== key || live.cause === 'user'
    const isEmpty = state.page === undefined || state.page.rows.length === 0
    Object.assign(state, { key, read: value })
    if (isOther || isEmpty || value === undefined || state.page === undefined) {
      Object.assign(state, { page: value, newer: 0 })
    } else {
      const { rows, newer } = mergeRows(state.page.rows, value.rows, rowId, limit)
      // The cursor continues after the last shown row.
      const nextCursor = newer > 0 ? state.page.nextCursor : value.nextCursor
      Object.assign(state, { page: { ...value, rows, nextCursor }, newer })
    }
  }
  return {
    page: state.page,
    newer: state.newer,
    showNewer: () => {
      Object.assign(state, { page: state.read, newer: 0 })
      renderAgain((count) => count + 1)
    },
  }
}
