/** Which part of a list (protocol/core 24); a cursor replaces an offset. */
export interface PageQuery {
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
}

export interface Bounds {
  readonly limit?: number
  readonly cursor?: string
}

/** A page that may name where the list continues. */
interface Continued {
  readonly next_cursor?: string | null | undefined
}

/** Returns every row of a list, page after page by cursor: a deep page costs as much as the first one. */
export async function* allRows<Page extends Continued, Row>(
  fetchPage: (bounds: Bounds) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
  limit: number | undefined,
): AsyncGenerator<Row, void, undefined> {
  for (let cursor: string | undefined; ;) {
    const bounds = { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) }
    const page = await fetchPage(bounds)
    yield* rowsOf(page)
    // A cursor that does not move would cause an endless loop.
    if (page.next_cursor === null || page.next_cursor === undefined || page.next_cursor === cursor) return
    cursor = page.next_cursor
  }
}
