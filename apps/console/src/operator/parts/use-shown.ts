import { useRef, useState } from 'preact/hooks'
import { mergeRows } from './merge-rows.ts'
import type { LiveValue } from './use-live.ts'

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
