import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import { FormError, type Read, described } from '../reading/schema.ts'
import { numberOf } from '../boundary/engine-question.ts'

/** A count of units of 10^-scale. Exact: it is read from text, never from a binary number. */
export type Amount = bigint

/** The outcome of a gate whose amount cannot be read. */
export type UnreadAmount = 'missing_context' | 'invalid_context'

export const MAX_SCALE = 6
const DECIMAL = /^(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,6})?$/
/** What one amount or limit stays below. */
const BOUND: Amount = 10n ** 18n

/**
 * Reads an amount (protocol/budgets-and-approvals 2). A text is taken as it is, a number as its canonical text, so that
 * 19.99 is 19.99. Negative values, exponents and more digits than the scale has are refused, and never rounded.
 */
export function readAmount(value: JsonValue | undefined, scale: number): Amount | UnreadAmount {
  if (value === undefined || value === null) return 'missing_context'
  const text = typeof value === 'string' ? (DECIMAL.test(value) ? value : undefined) : numberText(value)
  return text === undefined ? 'invalid_context' : (toUnits(text, scale) ?? 'invalid_context')
}

function numberText(value: JsonValue): string | undefined {
  if (numberOf(value) === undefined) return undefined
  const text = canonicalJson(value)
  return /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? text : undefined
}

function toUnits(text: string, scale: number): Amount | undefined {
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.replace(/0+$/, '')
  if (digits.length > scale) return undefined
  const units = BigInt(whole + digits.padEnd(scale, '0'))
  return units < BOUND ? units : undefined
}

/** The form in records: exactly `scale` fraction digits, and no point with scale 0. */
export function writeAmount(units: Amount, scale: number): string {
  const text = units.toString().padStart(scale + 1, '0')
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

const RECORDED = /^(?:0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** Reads what {@link writeAmount} wrote. A sum may have more digits than one amount. */
export function readRecordedAmount(value: JsonValue | undefined, scale: number): Amount | undefined {
  const match = typeof value === 'string' ? RECORDED.exec(value) : null
  if (match === null || (match[1] ?? '').length !== scale) return undefined
  return BigInt((value as string).replace('.', ''))
}

/** A limit of a policy or treaty, as it was written: a decimal text or a JSON integer. */
export const decimal: Read<JsonValue> = described(
  (value, field) => {
    const isInteger = typeof value === 'number' || typeof value === 'bigint'
    if (!isInteger && !(typeof value === 'string' && DECIMAL.test(value)))
      throw new FormError(field, 'a decimal as text, or an integer, is needed')
    return value
  },
  () => ({ type: ['string', 'integer'] }),
)

/** The units of a limit. Throws {@link FormError} for one that is not positive, too large, or finer than the scale. */
export function limitUnits(limit: JsonValue, scale: number, field: string): Amount {
  const units = readAmount(limit, scale)
  if (typeof units !== 'bigint' || units === 0n)
    throw new FormError(field, `must be positive, with at most ${scale} fraction digits`)
  return units
}
