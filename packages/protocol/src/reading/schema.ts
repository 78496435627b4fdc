import type { Read } from './read.ts'

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
