import type { JsonValue } from '../canonical/json-value.ts'

/** Returns the typed value, or throws `FormError` naming `field`. Never converts (protocol/core 1.1). */
export type Read<Value> = (value: JsonValue, field: string) => Value
