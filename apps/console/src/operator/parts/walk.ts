import { clearOnLock } from '../key.ts'
import { address, navigate } from '../router.ts'
import { createStore } from '../store.ts'
import type { ListPage } from './use-shown.ts'
import { type Walk, findStep, pathOf, positionIn } from './walk-steps.ts'

/** In memory only. */
export const walk = createStore<Walk | undefined>(undefined)
clearOnLock(() => walk.set(undefined))

// A page that is neither the list nor one of its rows ends the walk: the reader came from somewhere else.
address.subscribe(() => {
  const now = walk.get()
  const { path } = address.get()
  if (now !== undefined && path !== pathOf(now.list) && positionIn(now, path) < 0) walk.set(undefined)
})

interface Walked<Row> {
  readonly rowHref?: (row: Row) => string
  readonly load: (request: {
    readonly query: URLSearchParams
    readonly limit: number
    readonly cursor: string | undefined
    readonly signal: AbortSignal
  }) => Promise<ListPage<Row>>
}

/** Stores the shown rows for the pages about one row, which move to the next row with the filters of the list. */
export function noteWalk<Row>(list: Walked<Row>, page: ListPage<Row>, cursors: readonly string[], limit: number): void {
  const toHrefs = (rows: readonly Row[]): readonly string[] => rows.flatMap((row) => list.rowHref?.(row) ?? [])
  const hrefs = toHrefs(page.rows)
  // The walk of the former rows ends, also when there is no other one.
  walk.set(undefined)
  // Rows that open as drawers over the list have no page.
  if (hrefs.every((href) => pathOf(href) === location.pathname)) return
  const query = new URLSearchParams(location.search)
  query.delete('do')
  const text = query.toString()
  walk.set({
    list: location.pathname + (text === '' ? '' : `?${text}`),
    hrefs,
    cursors,
    nextCursor: page.nextCursor,
    async load(other) {
      const { signal } = new AbortController()
      const { rows, nextCursor } = await list.load({ query, limit, cursor: other.at(-1), signal })
      return { hrefs: toHrefs(rows), cursors: other, nextCursor }
    },
  })
}

let isMoving = false

/** Opens the next or previous row of the list. The entry of the history is replaced: Back leads to the list. */
export async function takeStep(step: -1 | 1): Promise<void> {
  const now = walk.get()
  const { path } = address.get()
  if (now === undefined || isMoving) return
  isMoving = true
  try {
    const found = await findStep(now, path, step)
    // The reader went elsewhere while rows were read.
    if (found === undefined || address.get().path !== path || walk.get() !== now) return
    walk.set(found.walk)
    navigate(found.href, { replace: true })
    scrollTo(0, 0)
  } finally {
    isMoving = false
  }
}
