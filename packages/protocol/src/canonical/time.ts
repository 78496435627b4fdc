/** Microseconds since 1970-01-01T00:00:00Z. A bigint, so that the year 9999 is as exact as today. */
export type Instant = bigint

const MICROS = 1_000_000n
export const SECOND: Instant = MICROS
export const MINUTE: Instant = 60n * MICROS
export const HOUR: Instant = 3600n * MICROS
export const DAY: Instant = 24n * HOUR

/** Clock tolerance of every signed timestamp (protocol/core 21). */
export const CLOCK_TOLERANCE: Instant = 300n * MICROS

export function seconds(count: number | bigint): Instant {
  return BigInt(count) * SECOND
}

export function hours(count: number | bigint): Instant {
  return BigInt(count) * HOUR
}

const FIRST_PLAUSIBLE: Instant = 946_684_800_000_000n // 2000-01-01T00:00:00Z
const LAST_PLAUSIBLE: Instant = 253_402_300_799_999_999n // 9999-12-31T23:59:59.999999Z

/** An invalid time: not a bigint, or of another unit. It must not lead to a verdict. */
export class InstantError extends RangeError {
  override readonly name = 'InstantError'
}

/**
 * The time a verifier says it is. Milliseconds taken for microseconds lie in 1970, where nothing has expired yet: every
 * record that is over would hold. The same count in another unit is never inside these bounds.
 */
export function requireInstant(now: unknown): Instant {
  const isPlausible = (value: bigint): boolean => value >= FIRST_PLAUSIBLE && value <= LAST_PLAUSIBLE
  if (typeof now === 'bigint' && isPlausible(now)) return now
  const whole = typeof now === 'bigint' ? now : Number.isSafeInteger(now) ? BigInt(now as number) : 0n
  const units = {
    seconds: whole * MICROS,
    milliseconds: whole * 1000n,
    microseconds: whole,
    nanoseconds: whole / 1000n,
  }
  const [unit] = Object.entries(units).find(([, value]) => isPlausible(value)) ?? []
  const seen = unit === undefined ? '' : `; this looks like ${unit}${typeof now === 'bigint' ? '' : ' in a number'}`
  throw new InstantError(`the time is a bigint of microseconds, as BigInt(Date.now()) * 1000n gives${seen}`)
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/**
 * Reads T-req and T-rec (protocol/core 1.4), or gives undefined: `YYYY-MM-DDTHH:MM:SS`, one to nine digits of a fraction
 * or none, then `Z`, an offset or nothing. No `Date` parser: those accept date-only texts, round fractions and differ
 * between engines. No pattern either: certificates are verified by the thousand, and a pattern would be slower.
 * Digits beyond microseconds are cut off.
 */
export function readInstant(text: string): Instant | undefined {
  const wholeSeconds = readWholeSeconds(text)
  if (wholeSeconds === undefined) return undefined
  const end = fractionEnd(text) ?? 19
  const micros = end === 19 ? 0n : BigInt(text.slice(20, Math.min(end, 26)).padEnd(6, '0'))
  return BigInt(wholeSeconds) * MICROS + micros
}

/** True for a text that {@link readInstant} reads. */
export function isInstant(text: string): boolean {
  return readWholeSeconds(text) !== undefined
}

function readWholeSeconds(text: string): number | undefined {
  if (text.length < 19 || text.length > 40 || !hasMarks(text)) return undefined
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  const hour = digits(text, 11, 13)
  const minute = digits(text, 14, 16)
  const second = digits(text, 17, 19)
  // What is no number compares false: every check is written so that it must hold.
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return undefined
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined
  const end = fractionEnd(text)
  const offset = end === undefined ? undefined : offsetSeconds(text, end)
  if (end === undefined || offset === undefined) return undefined
  const wholeSeconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
  // An offset can push the instant out of the years the written form has; such a text could be read but never stored.
  return wholeSeconds < FIRST_SECOND || wholeSeconds > LAST_SECOND ? undefined : wholeSeconds
}

const DASH = 0x2d
const COLON = 0x3a

function hasMarks(text: string): boolean {
  return (
    text.charCodeAt(4) === DASH &&
    text.charCodeAt(7) === DASH &&
    text.charCodeAt(10) === 0x54 &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON
  )
}

/** The number these decimal digits write; not-a-number when one of them is none. */
function digits(text: string, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at += 1) {
    const digit = text.charCodeAt(at) - 0x30
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** Where the seconds with their fraction end; undefined for a fraction without digits or with more than nine. */
function fractionEnd(text: string): number | undefined {
  if (text.charCodeAt(19) !== 0x2e) return 19
  let end = 20
  while (end < text.length && !Number.isNaN(digits(text, end, end + 1))) end += 1
  return end > 20 && end <= 29 ? end : undefined
}

function offsetSeconds(text: string, at: number): number | undefined {
  const left = text.length - at
  if (left === 0 || (left === 1 && text.endsWith('Z'))) return 0
  const sign = text.charAt(at)
  if (left !== 6 || (sign !== '+' && sign !== '-') || text.charCodeAt(at + 3) !== COLON) return undefined
  const hour = digits(text, at + 1, at + 3)
  const minute = digits(text, at + 4, at + 6)
  if (!(hour <= 23 && minute <= 59)) return undefined
  return (hour * 60 + minute) * 60 * (sign === '-' ? -1 : 1)
}

/** True when a readable text says where it is: `Z` or an offset. Without one a reader has to assume. */
export function hasOffset(text: string): boolean {
  return /(?:Z|[+-]\d\d:\d\d)$/.test(text)
}

export const FIRST_SECOND = -62_135_596_800 // 0001-01-01T00:00:00Z
export const LAST_SECOND = 253_402_300_799 // 9999-12-31T23:59:59Z

function daysIn(year: number, month: number): number {
  return month === 2 && isLeap(year) ? 29 : (MONTH_DAYS[month - 1] ?? 0)
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar; years are counted from March so that leap days come last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}
