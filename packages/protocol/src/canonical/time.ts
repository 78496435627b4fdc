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

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))?$/
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/**
 * Reads T-req and T-rec (protocol/core 1.4), or gives undefined. No `Date` parser: those accept date-only texts,
 * round fractions and differ between engines. Digits beyond microseconds are cut off.
 */
export function readInstant(text: string): Instant | undefined {
  if (text !== lastRead.text) lastRead = { text, instant: parseInstant(text) }
  return lastRead.instant
}

/** The texts of one record are mostly one and the same, and a justification repeats its own for every gate. */
let lastRead: { readonly text: string; readonly instant: Instant | undefined } = { text: '', instant: undefined }

function parseInstant(text: string): Instant | undefined {
  if (text.length > 40) return undefined
  const match = SHAPE.exec(text)
  if (match === null) return undefined
  const part = (index: number): number => Number(match[index] ?? 0)
  const [year, month, day] = [part(1), part(2), part(3)]
  const [hour, minute, second] = [part(4), part(5), part(6)]
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const [offsetHours, offsetMinutes] = [part(9), part(10)]
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const offset = (offsetHours * 60 + offsetMinutes) * 60 * (match[8] === '-' ? -1 : 1)
  const wholeSeconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
  // An offset can push the instant out of the years the written form has; such a text could be read but never stored.
  if (wholeSeconds < FIRST_SECOND || wholeSeconds > LAST_SECOND) return undefined
  const micros = Number((match[7] ?? '').padEnd(6, '0').slice(0, 6))
  return BigInt(wholeSeconds) * MICROS + BigInt(micros)
}

/** True when a readable text says where it is: `Z` or an offset. Without one a reader has to assume. */
export function hasOffset(text: string): boolean {
  return /(?:Z|[+-]\d\d:\d\d)$/.test(text)
}

const FIRST_SECOND = -62_135_596_800 // 0001-01-01T00:00:00Z
const LAST_SECOND = 253_402_300_799 // 9999-12-31T23:59:59Z

/** T-out: the one form this product writes; six digits only when the microseconds are not zero. */
export function writeInstant(instant: Instant): string {
  const { day, time, micros } = parts(instant)
  return micros === '000000' ? `${day}T${time}Z` : `${day}T${time}.${micros}Z`
}

/** Fixed width with six digits: sorts as text like the instants it stands for. The form of stored columns. */
export function writeSortable(instant: Instant): string {
  const { day, time, micros } = parts(instant)
  return `${day}T${time}.${micros}Z`
}

function parts(instant: Instant): { day: string; time: string; micros: string } {
  const wholeSeconds = floorDivide(instant, MICROS)
  const dayNumber = floorDivide(wholeSeconds, 86_400n)
  const secondOfDay = Number(wholeSeconds - dayNumber * 86_400n)
  const [year, month, day] = civil(Number(dayNumber))
  // Four digits are all the grammar has; writing another year would make a text nobody can read back.
  if (year < 1 || year > 9999) throw new RangeError('a year from 1 to 9999 is needed')
  const two = (value: number): string => String(value).padStart(2, '0')
  return {
    day: `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`,
    time: `${two(Math.trunc(secondOfDay / 3600))}:${two(Math.trunc(secondOfDay / 60) % 60)}:${two(secondOfDay % 60)}`,
    micros: String(instant - wholeSeconds * MICROS).padStart(6, '0'),
  }
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

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

/** The inverse of {@link daysSinceEpoch}. */
function civil(days: number): [year: number, month: number, day: number] {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day]
}
