import { FormError, checkReceivedForm, described, field, readReceived, shape } from '@chancery/protocol'
import type { JsonObject, Read, RecordForm, SchemaName } from '@chancery/protocol'
import { LIMITS } from './limits.ts'

const { arrayOf, integer, nullable, open, optional, required, withDefault } = shape

/** Members that many bodies and answers have. */
export const count = integer(0, Number.MAX_SAFE_INTEGER)
export const text = required(shape.string)
export const flag = required(shape.boolean)
export const whole = required(count)
/** Null, or a value; a missing member counts as null. */
export const textOrNull = withDefault(nullable(shape.string), null)
export const wholeOrNull = withDefault(nullable(count), null)
export const texts = listOf(shape.string)

/** A published record, by its own reader. The OpenAPI document refers to its schema. */
export function record<Value>(name: SchemaName, read: Read<Value>): Read<Value> {
  return described(
    (value, place) => read(value, place),
    () => ({ $ref: `#/$defs/${name}` }),
  )
}

/**
 * A trust record of an answer. It must be whole and hold nothing this release does not know: a member dropped here would
 * break the signature wherever the record is presented next.
 */
export function signedRecord<Value>(name: SchemaName, form: RecordForm<Value>): Read<Value> {
  return record(name, (value) => {
    const received = readReceived(form, value)
    const verdict = checkReceivedForm(received)
    if (!verdict.ok) throw new FormError('', `the record is not in its signed form (${verdict.reason})`)
    return received.record
  })
}

/** A published record as it is stored, which the caller reads. The OpenAPI document refers to its schema. */
export function storedRecord(name: SchemaName): Read<JsonObject> {
  return described(
    (value, place) => shape.object(value, place),
    () => ({ $ref: `#/$defs/${name}` }),
  )
}

/** A record, or the JSON text in which it was received. On the wire the text has a name that ends in `_text`. */
export function recordOrText<Value>(read: Read<Value>): Read<Value | string> {
  return described(shape.anyOf(shape.string, read), (of) => of(read))
}

/** A list as long as a page may be. */
export function listOf<Value>(read: Read<Value>, max: number = LIMITS.listPageRows): shape.Member<readonly Value[]> {
  return required(arrayOf(read, { max }))
}

/** An object, or null; a missing member counts as null. */
export function orNull<Shape extends shape.Members>(members: Shape): shape.DefaultMember<shape.ValueOf<Shape> | null> {
  return withDefault<shape.ValueOf<Shape> | null>(nullable(open(members)), null)
}

/** Where a list continues (protocol/core 24). All are absent in a list that is complete. */
export const paging = {
  /** Null above 10000 rows. */
  total: optional(nullable(count)),
  next_offset: optional(nullable(count)),
  next_cursor: optional(nullable(shape.string)),
}

/** Which part of a list. A cursor replaces an offset. */
export const cursorQuery = { cursor: shape.string, limit: integer(1, LIMITS.listPageRows) }
export const pageQuery = { ...cursorQuery, offset: count }

/** What a node adds to a body when it signs it (protocol/core 5.1). */
export const nodeProof = {
  action: text,
  audience: text,
  node_public_key: required(field.publicKey),
  timestamp: required(field.timestamp),
  nonce: text,
  signature: text,
}

/** In the answer to a dry run. */
export const isDryRun = required(shape.isTrue)

/** The number, and some of them by name. */
export const countedSample = open({ count: whole, sample: listOf(shape.string, 1000) })
