import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'

/** A column by which a list is ordered. The last one of an order is unique. */
export interface OrderColumn<Name extends string = string> {
  readonly column: Name
  readonly descending?: true
  /** What a cursor may name of it, without groups. */
  readonly form: RegExp
}

/** The values of a row by which a list is ordered. */
export type Place<Order extends readonly OrderColumn[] = readonly OrderColumn[]> = {
  readonly [Name in Order[number]['column']]: string
}

/** Of a list: from a place on, or from its beginning. */
export interface ListRange {
  readonly limit: number
  readonly after?: Place | undefined
  readonly offset?: number
}

/** The rows after a place. The first condition on a column is for its index, which cannot use the alternative. */
export function isAfter(order: readonly OrderColumn[], place: Place, table?: string): RawBuilder<boolean> {
  const [first, ...others] = order
  if (first === undefined) return sql<boolean>`1 = 0`
  const column = sql.ref(table === undefined ? first.column : `${table}.${first.column}`)
  const [within, beyond] = first.descending === true ? [sql`<=`, sql`<`] : [sql`>=`, sql`>`]
  const value = place[first.column]
  if (others.length === 0) return sql<boolean>`${column} ${beyond} ${value}`
  return sql<boolean>`(${column} ${within} ${value} and (${column} ${beyond} ${value} or ${isAfter(others, place, table)}))`
}

/** A part of a list in its order. */
export function inOrder<DB, Table extends keyof DB, Row>(
  rows: SelectQueryBuilder<DB, Table, Row>,
  order: readonly OrderColumn[],
  { limit, after, offset = 0 }: ListRange,
  table?: string,
): SelectQueryBuilder<DB, Table, Row> {
  let query = after === undefined ? rows.offset(offset) : rows.where(isAfter(order, after, table))
  for (const { column, descending } of order)
    query = query.orderBy(
      sql.ref(table === undefined ? column : `${table}.${column}`),
      descending === true ? 'desc' : 'asc',
    )
  return query.limit(limit)
}
