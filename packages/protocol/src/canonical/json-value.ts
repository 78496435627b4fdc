/**
 * A double that was written with a point or an exponent. JavaScript merges `90` and `90.0`; the signed bytes do not
 * (protocol/core 1.3), so the token form travels with the value.
 */
export class JsonFloat {
  readonly value: number

  constructor(value: number) {
    if (!Number.isFinite(value)) throw new TypeError('a JSON number is finite')
    this.value = value
  }
}

/** Integers are `number` while exact and `bigint` beyond 2^53-1; doubles are {@link JsonFloat}. */
export type JsonValue = null | boolean | string | number | bigint | JsonFloat | readonly JsonValue[] | JsonObject

export type JsonObject = { readonly [name: string]: JsonValue }

/** True for objects, false for arrays, null, floats and scalars. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonFloat)
}

/** An object without a prototype: `__proto__` and `constructor` are ordinary names in it. */
export function emptyObject(): { [name: string]: JsonValue } {
  return Object.create(null) as { [name: string]: JsonValue }
}

/** Own member or undefined; a name such as `toString` never reaches the prototype. */
export function member(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Integer tokens outside these bounds are neither read nor written (protocol/core 1.1 rule 4). */
export const MIN_INTEGER: bigint = -(2n ** 63n)
export const MAX_INTEGER: bigint = 2n ** 64n - 1n
