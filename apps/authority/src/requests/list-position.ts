import { Refusal } from '@chancery/contract'
import { isPlainText, readInstant, writeInstant } from '@chancery/protocol'
import type { OrderColumn, Place } from '../database/list-query.ts'

/** A time as it is stored. */
export const STORED_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/
/** An id that its maker chose. */
export const ANY_ID = /.{1,256}/

/** The order of issued records, oldest first. */
export function byIssue<const Name extends string>(id: Name) {
  return [
    { column: 'issued_at', form: STORED_TIME },
    { column: id, form: ANY_ID },
  ] as const
}

/** The place that a cursor names. A cursor of another list is refused. */
export function readPlace<const Order extends readonly OrderColumn[]>(
  order: Order,
  text: string | undefined,
): Place<Order> | undefined {
  if (text === undefined) return undefined
  const forms = order.map(({ form }) => form.source).join(')\\|(')
  const values = new RegExp(`^(${forms})$`, 'su').exec(text)
  if (values === null || !isPlainText(text, 400)) throw new Refusal('invalid_page')
  // The names of the type are those of the order.
  return Object.fromEntries(order.map(({ column }, at) => [column, values[at + 1]])) as Place<Order>
}

export function writePlace(order: readonly OrderColumn[], row: object): string {
  const values = new Map(Object.entries(row))
  return order.map(({ column }) => String(values.get(column))).join('|')
}

/** A stored time in the form of responses. */
export function toWireTime(stored: string): string
export function toWireTime(stored: string | null): string | null
export function toWireTime(stored: string | null): string | null {
  return stored === null ? null : writeInstant(readInstant(stored) ?? 0n)
}
