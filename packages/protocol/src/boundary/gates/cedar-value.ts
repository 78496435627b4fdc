import { JsonFloat, type JsonObject, type JsonValue, emptyObject, isJsonObject } from '../../canonical/utf8.ts'

/** A value that Cedar has no counterpart for. */
export class UnfitValueError extends Error {
  override readonly name = 'UnfitValueError'
}

/** Names that Cedar reads as an entity or a function call instead of as data. */
const ESCAPES: ReadonlySet<string> = new Set(['__entity', '__extn', '__expr'])

type Escapes = 'refused' | 'allowed'

/** A proof that shows the request must itself be readable, at most 64 levels deep. */
const MAX_DEPTH = 32

/** Decimals of Cedar have four digits after the point and 64 bits. */
const MAX_DECIMAL = 900_000_000_000_000

/**
 * A fact as Cedar reads it (protocol/trust-operations 5.12). An integer stays one, a number with a point becomes a
 * decimal, a member that is null is left out. A fact never becomes an entity or a function call: the caller chooses
 * parameters, and could otherwise name an entity that a rule trusts.
 */
export function toCedarValue(value: JsonValue, escapes: Escapes = 'refused', depth = 0): JsonValue {
  if (depth > MAX_DEPTH) throw new UnfitValueError()
  if (typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number') return value
  if (value instanceof JsonFloat) return toDecimal(value.value)
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((each) => toCedarValue(each, escapes, depth + 1))
  if (!isJsonObject(value)) throw new UnfitValueError()
  return toCedarRecord(value, escapes, depth)
}

export function toCedarRecord(value: JsonObject, escapes: Escapes = 'refused', depth = 0): JsonObject {
  const out = emptyObject()
  for (const [name, each] of Object.entries(value)) {
    if (escapes === 'refused' && ESCAPES.has(name)) throw new UnfitValueError()
    if (each !== null) out[name] = toCedarValue(each, escapes, depth + 1)
  }
  return out
}

function toDecimal(value: number): JsonObject {
  const text = value.toFixed(4)
  if (Math.abs(value) > MAX_DECIMAL || Number(text) !== value) throw new UnfitValueError()
  return { __extn: { fn: 'decimal', arg: text } }
}
