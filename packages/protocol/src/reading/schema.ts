import type { JsonValue } from '../canonical/utf8.ts'

/** Returns the typed value, or throws `FormError` naming `field`. Never converts (protocol/core 1.1). */
export type Read<Value> = (value: JsonValue, field: string) => Value

type Members<Value> = { readonly [Name in keyof Value]: Value[Name] }

/** The type of a record, from the reader or the form that reads it. */
export type ReadBy<Form> = Members<
  Form extends Read<infer Value> ? Value : Form extends { readonly read: Read<infer Value> } ? Value : never
>

/** A JSON Schema (draft 2020-12), or a part of one. */
export type Schema = { readonly [keyword: string]: unknown }

/** Gives the schema of an inner reader. */
export type SchemaOf = (read: Read<unknown>) => Schema

interface Description {
  readonly schema: (of: SchemaOf) => Schema
  /** Under which a schema names it once, instead of repeating it. */
  readonly name: string | undefined
}

const descriptions = new WeakMap<Read<unknown>, Description>()

/**
 * Adds a schema to a reader, so that published schemas come from the readers that check records. Rules that no schema
 * can express (the order of two times, a valid point of the curve) are only in the reader.
 */
export function described<Value>(read: Read<Value>, schema: Description['schema'], name?: string): Read<Value> {
  descriptions.set(read, { schema, name })
  return read
}

/** Returns the schema of a record; named parts are in `$defs`. Throws for a reader without a description. */
export function schemaOf(read: Read<unknown>): Schema {
  const defs: { [name: string]: Schema } = {}
  const of: SchemaOf = (inner) => {
    const found = descriptions.get(inner)
    if (found === undefined) throw new TypeError('a reader without a description: wrap it in described()')
    const { schema, name } = found
    if (name === undefined) return schema(of)
    defs[name] ??= schema(of)
    return { $ref: `#/$defs/${name}` }
  }
  const whole = of(read)
  const names = Object.keys(defs).toSorted()
  return names.length === 0 ? whole : { ...whole, $defs: Object.fromEntries(names.map((name) => [name, defs[name]])) }
}

/** The same, or null. */
export function orNullSchema(schema: Schema): Schema {
  return typeof schema['type'] === 'string' && schema['enum'] === undefined
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

/** A value that does not have its form. Names the place and the rule, never the value. */
export class FormError extends Error {
  override readonly name = 'FormError'
  /** Dotted place inside the record, for example `routing.max_hops`; empty for the record itself. */
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(field === '' ? problem : `${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** As a place: none is wanted, because the error is only caught. Nothing inside gets a place either. */
export const NO_PLACE = '\u0000'

/** The place of a member inside another place. */
export function placeOf(field: string, name: string): string {
  if (field === '') return name
  return field === NO_PLACE ? field : `${field}.${name}`
}
