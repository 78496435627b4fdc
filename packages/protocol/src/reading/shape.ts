import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/json-value.ts'
import { FormError, NO_PLACE, placeOf } from './form-error.ts'
import type { Read } from './read.ts'
import { type Schema, type SchemaOf, described, orNullSchema } from './schema.ts'

export interface Member<Value> {
  readonly read: Read<Value>
  /** Present for members that may be left out; signed bytes then contain this value (protocol/core 1.6). */
  readonly absent?: Value
}

export function required<Value>(read: Read<Value>): Member<Value> {
  return { read }
}

export function withDefault<Value>(read: Read<Value>, absent: NoInfer<Value>): Member<Value> {
  return { read, absent }
}

export type Members = { readonly [name: string]: Member<unknown> }
export type ValueOf<Shape extends Members> = {
  readonly [Name in keyof Shape]: Shape[Name] extends Member<infer V> ? V : never
}

/** What {@link closed} says of a member it does not know; the place then ends in the sender's own text. */
export const UNKNOWN_MEMBER = 'an unknown member'

/** A closed object: unknown members are refused, because an unsigned extra member would survive verification. */
export function closed<Shape extends Members>(shape: Shape): Read<ValueOf<Shape>> {
  const names = Object.keys(shape)
  const read: Read<ValueOf<Shape>> = (value, field) => {
    if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(shape, name)) throw new FormError(placeOf(field, name), UNKNOWN_MEMBER)
    }
    const out: { [name: string]: unknown } = {}
    for (const name of names) out[name] = readMember(value, name, shape[name] as Member<unknown>, field)
    return out as ValueOf<Shape>
  }
  return described(read, (of) => ({
    type: 'object',
    properties: Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, memberSchema(each, of)])),
    required: names.filter((name) => !('absent' in (shape[name] as Member<unknown>))),
    additionalProperties: false,
  }))
}

function memberSchema(expected: Member<unknown>, of: SchemaOf): Schema {
  return 'absent' in expected ? { ...of(expected.read), default: expected.absent } : of(expected.read)
}

function readMember(record: JsonObject, name: string, expected: Member<unknown>, field: string): unknown {
  const value = member(record, name)
  if (value !== undefined) return expected.read(value, placeOf(field, name))
  if ('absent' in expected) return expected.absent
  throw new FormError(placeOf(field, name), 'is missing')
}

export function arrayOf<Value>(
  read: Read<Value>,
  bounds: { min?: number; max: number; distinct?: boolean },
): Read<readonly Value[]> {
  const readItems: Read<readonly Value[]> = (value, field) => {
    if (!Array.isArray(value)) throw new FormError(field, 'an array is needed')
    if (value.length < (bounds.min ?? 0)) throw new FormError(field, 'has too few items')
    if (value.length > bounds.max) throw new FormError(field, 'has too many items')
    const items = (value as readonly JsonValue[]).map((item, index) =>
      read(item, field === NO_PLACE ? field : `${field}[${index}]`),
    )
    if (bounds.distinct === true && new Set(items).size !== items.length) throw new FormError(field, 'repeats an item')
    return items
  }
  return described(readItems, (of) => ({
    type: 'array',
    items: of(read),
    ...(bounds.min === undefined ? {} : { minItems: bounds.min }),
    maxItems: bounds.max,
    ...(bounds.distinct === true ? { uniqueItems: true } : {}),
  }))
}

export function nullable<Value>(read: Read<Value>): Read<Value | null> {
  return described(
    (value, field) => (value === null ? null : read(value, field)),
    (of) => orNullSchema(of(read)),
  )
}

export function oneOf<const Word extends string>(...words: readonly Word[]): Read<Word> {
  const read: Read<Word> = (value, field) => {
    const word = words.find((each) => each === value)
    if (word === undefined) throw new FormError(field, 'is not an allowed value')
    return word
  }
  return described(read, () => ({ type: 'string', enum: words }))
}

/** An integer token within bounds; `168.0`, `"168"` and `true` are other types. */
export function integer(min: number, max: number): Read<number> {
  const read: Read<number> = (value, field) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new FormError(field, 'an integer is needed')
    if (value < min || value > max) throw new FormError(field, 'is out of range')
    return value
  }
  return described(read, () => ({ type: 'integer', minimum: min, maximum: max }))
}

export function boolean(value: JsonValue, field: string): boolean {
  if (typeof value !== 'boolean') throw new FormError(field, 'a boolean is needed')
  return value
}

export function isTrue(value: JsonValue, field: string): true {
  if (value !== true) throw new FormError(field, 'must be true')
  return value
}

export function string(value: JsonValue, field: string): string {
  if (typeof value !== 'string') throw new FormError(field, 'a string is needed')
  return value
}

export function object(value: JsonValue, field: string): JsonObject {
  if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
  return value
}

described(boolean, () => ({ type: 'boolean' }))
described(isTrue, () => ({ type: 'boolean', enum: [true] }))
described(string, () => ({ type: 'string' }))
described(object, () => ({ type: 'object' }))

/** Runs a reader on a whole record. */
export function readRecord<Value>(read: Read<Value>, value: JsonValue): Value {
  return read(value, '')
}
