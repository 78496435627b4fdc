import type { JsonValue } from '../canonical/json-value.ts'

/** Returns the typed value, or throws `FormError` naming `field`. Never converts (protocol/core 1.1). */
export type Read<Value> = (value: JsonValue, field: string) => Value

type Members<Value> = { readonly [Name in keyof Value]: Value[Name] }

/** The type of a record, from the reader or the form that reads it. */
export type ReadBy<Form> = Members<
  Form extends Read<infer Value> ? Value : Form extends { readonly read: Read<infer Value> } ? Value : never
>
