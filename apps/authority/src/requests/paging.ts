import { LIMITS, Refusal } from '@chancery/contract'
import { type JsonObject, isPlainText, readInstant, writeSortable } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'

const MAX_TEXT = 128

/** Reads a filter of 1 to 128 characters. */
export function readTextFilter(query: Query, name: string): string | undefined {
  const value = query.first(name)
  if (value !== undefined && !isPlainText(value, MAX_TEXT)) throw new Refusal('invalid_input', { field: name })
  return value
}

/** Reads a filter that has fixed values. */
export function readChoiceFilter<Value extends string>(
  query: Query,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const value = query.first(name)
  const found = values.find((each) => each === value)
  if (value !== undefined && found === undefined) throw new Refusal('invalid_input', { field: name })
  return found
}

/** Reads a time as it is stored. A plus that a form encoder replaced by a blank is read as a plus. */
export function readTimeFilter(query: Query, name: string): string | undefined {
  const text = query.first(name)
  if (text === undefined) return undefined
  const instant = readInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (instant === undefined) throw new Refusal('invalid_timestamps', { field: name })
  return writeSortable(instant)
}

/** One page of a list (protocol/core 24). `after` is the position of an opaque cursor. */
export interface Page {
  readonly limit: number
  readonly offset: number
  readonly after: string | undefined
  /** True when the caller sent a paging parameter. Then the response has paging members. */
  readonly asked: boolean
}

export function readPage(query: Query): Page {
  const [limit, offset, cursor] = [query.first('limit'), query.first('offset'), query.first('cursor')]
  // A cursor replaces an offset. Both together have no meaning.
  if (cursor !== undefined && offset !== undefined) throw new Refusal('invalid_page')
  return {
    limit: limit === undefined ? LIMITS.listPageRows : readWhole(limit, 1, LIMITS.listPageRows),
    offset: offset === undefined ? 0 : readWhole(offset, 0, LIMITS.listOffsetMax),
    after: cursor === undefined ? undefined : readPosition(cursor),
    asked: limit !== undefined || offset !== undefined || cursor !== undefined,
  }
}

export function readWhole(text: string, min: number, max: number): number {
  if (!/^(?:0|[1-9][0-9]{0,8})$/.test(text)) throw new Refusal('invalid_page')
  const value = Number(text)
  if (value < min || value > max) throw new Refusal('invalid_page')
  return value
}

/** Opaque to clients, so that its content may change. */
export function writeCursor(place: string): string {
  return Buffer.from(`1|${place}`).toString('base64url')
}

/** Decodes the position of a cursor. A text that we did not write is refused. */
export function readPosition(text: string): string {
  const place = Buffer.from(text.slice(0, 4096), 'base64url').toString('utf8')
  // Only text that we wrote encodes to itself again.
  if (!place.startsWith('1|') || writeCursor(place.slice(2)) !== text) throw new Refusal('invalid_page')
  return place.slice(2)
}

/** total, next_offset and next_cursor. Left out for a caller that did not ask for pages and got everything. */
export async function pageMembers(
  page: Page,
  rows: number,
  last: string | undefined,
  count: (bound: number) => Promise<number | null>,
): Promise<JsonObject> {
  if (!page.asked && last === undefined) return {}
  const nextOffset = page.offset + rows
  const canOffset = last !== undefined && page.after === undefined && nextOffset <= LIMITS.listOffsetMax
  return {
    total: await totalOf(page, rows, last, count),
    next_offset: canOffset ? nextOffset : null,
    next_cursor: last === undefined ? null : writeCursor(last),
  }
}

/** On the last page the total is known without counting. */
async function totalOf(
  page: Page,
  rows: number,
  last: string | undefined,
  count: (bound: number) => Promise<number | null>,
): Promise<number | null> {
  const isWhole = last === undefined && page.after === undefined && (rows > 0 || page.offset === 0)
  if (!isWhole) return count(LIMITS.listCountMax)
  const total = page.offset + rows
  return total > LIMITS.listCountMax ? null : total
}
