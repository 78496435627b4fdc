import { LIMITS, Refusal } from '@chancery/contract'
import { type JsonObject, isPlainText, readInstant, writeJson, writeSortable } from '@chancery/protocol'
import { type HttpResponse, type Query, jsonText } from '@chancery/service-kit'
import type { SelectQueryBuilder } from 'kysely'
import { countUpTo } from '../database/large-tables.ts'
import type { Reader } from '../database/database.ts'
import { type OrderColumn, inOrder } from '../database/list-query.ts'
import { readPlace, writePlace } from './list-position.ts'

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

/** `rows`: how many, when the caller does not say it. */
export function readPage(query: Query, rows: number = LIMITS.listPageRows): Page {
  const [limit, offset, cursor] = [query.first('limit'), query.first('offset'), query.first('cursor')]
  // A cursor replaces an offset. Both together have no meaning.
  if (cursor !== undefined && offset !== undefined) throw new Refusal('invalid_page')
  return {
    limit: limit === undefined ? rows : readWhole(limit, 1, LIMITS.listPageRows),
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
  // Only text that we wrote encodes to itself again. PostgreSQL cannot compare with a NUL.
  if (!place.startsWith('1|') || writeCursor(place.slice(2)) !== text || place.includes('\0'))
    throw new Refusal('invalid_page')
  return place.slice(2)
}

/** A list: the rows that its filter leaves, in an order. */
export interface List<DB, Table extends keyof DB, Row> {
  readonly rows: SelectQueryBuilder<DB, Table, Row>
  readonly order: readonly OrderColumn[]
  /** Begins the cursors of a list that has several orders. */
  readonly name?: string
}

/** Reads one page, and where the next one begins. */
export async function readRows<DB, Table extends keyof DB, Row extends object>(
  { rows, order, name = '' }: List<DB, Table, Row>,
  { limit, offset = 0, after }: Pick<Page, 'limit' | 'after'> & { readonly offset?: number },
): Promise<{ readonly rows: readonly Row[]; readonly last: string | undefined }> {
  const place = after?.startsWith(name) === false ? '' : after?.slice(name.length)
  const found = await inOrder(rows, order, { limit: limit + 1, offset, after: readPlace(order, place) }).execute()
  const shown = found.slice(0, limit) as Row[]
  const end = found.length > limit ? shown.at(-1) : undefined
  return { rows: shown, last: end === undefined ? undefined : `${name}${writePlace(order, end)}` }
}

/** Reads one page with its paging members. */
export async function readList<DB, Table extends keyof DB, Row extends object>(
  db: Reader,
  page: Page,
  list: List<DB, Table, Row>,
): Promise<{ readonly rows: readonly Row[]; readonly paging: JsonObject }> {
  const { rows, last } = await readRows(list, page)
  return { rows, paging: await pageMembers(page, rows.length, last, (bound) => countUpTo(db, list.rows, bound)) }
}

/** A response of texts as they are stored. A signed record is never parsed and written again. */
export function listResponse(name: string, texts: readonly string[], paging: JsonObject): HttpResponse {
  const more = writeJson(paging).slice(1)
  return jsonText(`{"count":${texts.length},"${name}":[${texts.join(',')}]${more === '}' ? '' : ','}${more}`)
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
