import { JsonFloat, type JsonValue, isJsonObject } from '../canonical/json-value.ts'

/** What a list of a selector or a gate may hold, and what may be compared with it (protocol/trust-operations 5.5). */
export type Scalar = null | boolean | string | number | bigint | JsonFloat

export function isScalar(value: JsonValue): value is Scalar {
  return typeof value !== 'object' || value === null || value instanceof JsonFloat
}

/** The exact number a token stands for; undefined when the value is no number. `true` is no number here. */
export function numberOf(value: JsonValue): number | bigint | undefined {
  if (value instanceof JsonFloat) return value.value
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined
}

/** Below, equal or above. A bigint and a double are compared as they are: neither is rounded to the other's kind. */
export function compareNumbers(a: number | bigint, b: number | bigint): -1 | 0 | 1 {
  if (a < b) return -1
  return a > b ? 1 : 0
}

/**
 * Equality without conversion: 1 equals 1.0, but true is not 1, "1" is not 1 and null equals null only. A converting
 * comparison would let a caller reach a listed value with another type.
 */
export function equalScalars(a: Scalar, b: Scalar): boolean {
  const [left, right] = [numberOf(a), numberOf(b)]
  if (left !== undefined && right !== undefined) return compareNumbers(left, right) === 0
  return left === undefined && right === undefined && a === b
}

export type ValueType = 'missing' | 'null' | 'boolean' | 'number' | 'string' | 'list' | 'object' | 'timestamp' | 'other'

/** The word a proof uses for the kind of a JSON value; never the value. */
export function valueTypeOf(value: JsonValue | undefined): Exclude<ValueType, 'timestamp'> {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (numberOf(value) !== undefined) return 'number'
  if (Array.isArray(value)) return 'list'
  if (isJsonObject(value)) return 'object'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'string' : 'other'
}
