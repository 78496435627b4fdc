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
