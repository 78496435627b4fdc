import { FIRST_SECOND, type Instant, LAST_SECOND, SECOND } from './time.ts'

/** T-out: the one form this product writes; six digits only when the microseconds are not zero. */
export function writeInstant(instant: Instant): string {
  const { whole, micros } = split(instant)
  return micros === 0 ? `${writeSeconds(whole)}Z` : `${writeSeconds(whole)}.${String(micros).padStart(6, '0')}Z`
}

/** Fixed width with six digits: sorts as text like the instants it stands for. The form of stored columns. */
export function writeSortable(instant: Instant): string {
  const { whole, micros } = split(instant)
  return `${writeSeconds(whole)}.${String(micros).padStart(6, '0')}Z`
}

/** Whole seconds, rounded down, and the microseconds beyond them: both are exact as plain numbers. */
function split(instant: Instant): { readonly whole: number; readonly micros: number } {
  const micros = Number(instant % SECOND)
  const whole = Number(instant / SECOND)
  return micros < 0 ? { whole: whole - 1, micros: micros + 1_000_000 } : { whole, micros }
}

/** The last written seconds by their low bits: a service writes the same few moments again and again. */
const KEPT = 64
const cachedSeconds = new Float64Array(KEPT).fill(Number.NaN)
const cachedTexts: string[] = Array.from({ length: KEPT }, () => '')

function writeSeconds(whole: number): string {
  const slot = ((whole % KEPT) + KEPT) % KEPT
  if (cachedSeconds[slot] === whole) return cachedTexts[slot] ?? ''
  const text = spellSeconds(whole)
  cachedSeconds[slot] = whole
  cachedTexts[slot] = text
  return text
}

function spellSeconds(whole: number): string {
  // The grammar has four digits; a text with another year could not be read back.
  if (whole < FIRST_SECOND || whole > LAST_SECOND) throw new RangeError('a year from 1 to 9999 is needed')
  const dayNumber = Math.floor(whole / 86_400)
  const second = whole - dayNumber * 86_400
  const [year, month, day] = civil(dayNumber)
  const time = `${two(Math.trunc(second / 3600))}:${two(Math.trunc(second / 60) % 60)}:${two(second % 60)}`
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${time}`
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** Year, month and day of a number of days since 1970. */
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
