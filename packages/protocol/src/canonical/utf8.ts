/** Encoding classes of every platform; the compiler's own library does not list them. */
interface TextPlatform {
  readonly TextEncoder: new () => {
    encode(text: string): Uint8Array<ArrayBuffer>
    encodeInto(text: string, into: Uint8Array): { readonly read: number; readonly written: number }
  }
  readonly TextDecoder: new (
    label: 'utf-8',
    options: { fatal: true; ignoreBOM: true },
  ) => { decode(bytes: Uint8Array): string }
}

const platform = globalThis as unknown as TextPlatform
const encoder = new platform.TextEncoder()
// A byte order mark stays in the text, where the reader refuses it.
const decoder = new platform.TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** Writes the text into these bytes, which must have three for each of its units; returns how many were written. */
export function putUtf8(text: string, into: Uint8Array): number {
  return encoder.encodeInto(text, into).written
}

/** The text of well-formed UTF-8 bytes, or undefined. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

const scratch = new Uint8Array(16_384)
// oxlint-disable-next-line no-control-regex -- every unit below 0x80
const ASCII = /^[\u0000-\u007f]*$/

/** True when every unit is below 0x80. The encoder finds out several times quicker than a pattern. */
export function isAscii(text: string): boolean {
  if (text.length > scratch.length) return ASCII.test(text)
  // Both numbers: where the room ends before the text, as many bytes may be written as the text has units.
  const { read, written } = encoder.encodeInto(text, scratch)
  return read === text.length && written === text.length
}

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

/** Joins bytes in separate memory, never in a shared pool, so that the result can be transferred to another thread. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}
