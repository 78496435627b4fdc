import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { FormError, NO_PLACE, described, orNullSchema, placeOf } from './schema.ts'
import type { Read, Schema, SchemaOf } from './schema.ts'

export interface Member<Value> {
  readonly read: Read<Value>
  /** Present for members that may be left out; signed bytes then contain this value (protocol/core 1.6). */
  readonly absent?: Value
}

/** A member that may be left out and is then this value. */
export interface DefaultMember<Value> extends Member<Value> {
  readonly absent: Value
}

/** A member that may be left out, and is then absent in the value, too. */
export interface OptionalMember<Value> extends Member<Value> {
  readonly optional: true
}

export function required<Value>(read: Read<Value>): Member<Value> {
  return { read }
}

export function withDefault<Value>(read: Read<Value>, absent: NoInfer<Value>): DefaultMember<Value> {
  return { read, absent }
}

export function optional<Value>(read: Read<Value>): OptionalMember<Value> {
  return { read, optional: true }
}

export type Members = { readonly [name: string]: Member<unknown> }
type Optional = { readonly optional: true }
type Given<Each> = Each extends Member<infer V> ? V : never
export type ValueOf<Shape extends Members> = {
  readonly [Name in keyof Shape as Shape[Name] extends Optional ? never : Name]: Given<Shape[Name]>
} & { readonly [Name in keyof Shape as Shape[Name] extends Optional ? Name : never]?: Given<Shape[Name]> }

type Omittable = Optional | { readonly absent: unknown }
/** What a caller sends: members with a default may be left out. */
export type SentOf<Shape extends Members> = {
  readonly [Name in keyof Shape as Shape[Name] extends Omittable ? never : Name]: Given<Shape[Name]>
} & { readonly [Name in keyof Shape as Shape[Name] extends Omittable ? Name : never]?: Given<Shape[Name]> }

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
    for (const name of names) {
      const found = readMember(value, name, shape[name] as Member<unknown>, field)
      if (found !== LEFT_OUT) out[name] = found
    }
    return out as ValueOf<Shape>
  }
  return described(read, (of) => ({ ...openSchema(shape, of), additionalProperties: false }))
}

/**
 * An unsigned object: these members are read, others are ignored, because an answer may gain members within a version
 * (signed records may not: their readers refuse unknown members).
 */
export function open<Shape extends Members>(members: Shape): Read<ValueOf<Shape>> {
  const read = closed(members)
  const readKnown: Read<ValueOf<Shape>> = (value, field) => {
    const entries = Object.entries(object(value, field)).filter(([name]) => Object.hasOwn(members, name))
    return read(Object.fromEntries(entries), field)
  }
  return described(readKnown, (of) => openSchema(members, of))
}

/** The first form that fits. */
export function anyOf<A, B>(first: Read<A>, second: Read<B>): Read<A | B> {
  const read: Read<A | B> = (value, field) => {
    try {
      return first(value, field)
    } catch (error) {
      if (error instanceof FormError) return second(value, field)
      throw error
    }
  }
  return described(read, (of) => ({ anyOf: [of(first), of(second)] }))
}

const LEFT_OUT = Symbol('left out')

function openSchema(shape: Members, of: SchemaOf): Schema {
  const isNeeded = (each: Member<unknown>): boolean => !('absent' in each || 'optional' in each)
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, memberSchema(each, of)])),
    required: Object.keys(shape).filter((name) => isNeeded(shape[name] as Member<unknown>)),
  }
}

function memberSchema(expected: Member<unknown>, of: SchemaOf): Schema {
  return 'absent' in expected ? { ...of(expected.read), default: expected.absent } : of(expected.read)
}

function readMember(record: JsonObject, name: string, expected: Member<unknown>, field: string): unknown {
  const value = member(record, name)
  if (value !== undefined) return expected.read(value, placeOf(field, name))
  if ('absent' in expected) return expected.absent
  if ('optional' in expected) return LEFT_OUT
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

/** Any value. The route that reads it checks it further, or gives it back as it was. */
export function any(value: JsonValue): JsonValue {
  return value
}

/** An object with any names. */
export function mapOf<Value>(read: Read<Value>): Read<{ readonly [name: string]: Value }> {
  const readMap: Read<{ readonly [name: string]: Value }> = (value, field) =>
    Object.fromEntries(
      Object.entries(object(value, field)).map(([name, each]) => [name, read(each, placeOf(field, name))]),
    )
  return described(readMap, (of) => ({ type: 'object', additionalProperties: of(read) }))
}

described(any, () => ({}))
described(boolean, () => ({ type: 'boolean' }))
described(isTrue, () => ({ type: 'boolean', enum: [true] }))
described(string, () => ({ type: 'string' }))
described(object, () => ({ type: 'object' }))

/** Runs a reader on a whole record. */
export function readRecord<Value>(read: Read<Value>, value: JsonValue): Value {
  return read(value, '')
}
