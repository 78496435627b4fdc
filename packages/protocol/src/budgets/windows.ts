import { type Instant, SECOND, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { FormError, type Read, described } from '../reading/schema.ts'
import { anyOf, closed, integer, oneOf, required } from '../reading/shape.ts'

export const CALENDAR_UNITS = ['hour', 'day', 'week', 'month', 'year'] as const
type CalendarUnit = (typeof CALENDAR_UNITS)[number]

/** The period of a budget: of the calendar in UTC, or the last seconds in 60 buckets. */
export type BudgetWindow =
  | { readonly kind: 'calendar'; readonly unit: CalendarUnit }
  | { readonly kind: 'rolling'; readonly seconds: number }

/** One window with its bounds, as records show it. `until` is the first instant after it. */
export interface NamedWindow {
  readonly name: string
  readonly from: string
  readonly until: string
}

const BUCKETS = 60
const MAX_ROLLING_SECONDS = 2_678_400

const rollingSeconds: Read<number> = described(
  (value, field) => {
    const read = integer(BUCKETS, MAX_ROLLING_SECONDS)(value, field)
    if (read % BUCKETS !== 0) throw new FormError(field, `must be a multiple of ${BUCKETS}`)
    return read
  },
  () => ({ type: 'integer', minimum: BUCKETS, maximum: MAX_ROLLING_SECONDS, multipleOf: BUCKETS }),
)

export const budgetWindow: Read<BudgetWindow> = anyOf(
  closed({ kind: required(oneOf('calendar')), unit: required(oneOf(...CALENDAR_UNITS)) }),
  closed({ kind: required(oneOf('rolling')), seconds: required(rollingSeconds) }),
)

/**
 * The slot of an instant: the number of its bucket, or for a calendar window the second in which it begins. Amounts are
 * added up per slot.
 */
export function slotOf(window: BudgetWindow, at: Instant): bigint {
  return window.kind === 'rolling' ? at / bucketLength(window) : startOf(window.unit, at) / SECOND
}

/** Slots whose amounts count at an instant: from the first, later ones included; of a calendar window only that one. */
export function countedSlots(window: BudgetWindow, at: Instant): { readonly from: bigint; readonly to?: bigint } {
  const slot = slotOf(window, at)
  return window.kind === 'rolling' ? { from: slot - BigInt(BUCKETS) } : { from: slot, to: slot }
}

/** Whether a slot counts at an instant. */
export function isCounted(window: BudgetWindow, slot: bigint, at: Instant): boolean {
  const { from, to } = countedSlots(window, at)
  return slot >= from && (to === undefined || slot <= to)
}

/** The window that contains an instant, with its name (protocol/budgets-and-approvals 3). */
export function windowAt(window: BudgetWindow, at: Instant): NamedWindow {
  if (window.kind === 'rolling') {
    const [length, bucket] = [bucketLength(window), slotOf(window, at)]
    const from = writeInstant((bucket - BigInt(BUCKETS)) * length)
    return { name: `rolling:${window.seconds}:${bucket}`, from, until: writeInstant((bucket + 1n) * length) }
  }
  const start = startOf(window.unit, at)
  const until = startOf(window.unit, start + LONGER_THAN[window.unit])
  return { name: nameOf(window.unit, start), from: writeInstant(start), until: writeInstant(until) }
}

/** A stored or recorded window; undefined when it is none. */
export function readWindowForm(value: JsonValue | undefined): BudgetWindow | undefined {
  return value === undefined ? undefined : readOrUndefined(() => budgetWindow(value, ''))
}

/** The window that a recorded name stands for; undefined when it is no name. */
export function readWindowName(name: string): BudgetWindow | undefined {
  const [kind = '', length = ''] = name.split(':')
  if (kind === 'rolling')
    return /^[0-9]{2,7}$/.test(length) ? readWindowForm({ kind, seconds: Number(length) }) : undefined
  const unit = CALENDAR_UNITS.find((each) => each === kind)
  return unit === undefined ? undefined : { kind: 'calendar', unit }
}

function bucketLength({ seconds }: { readonly seconds: number }): Instant {
  return BigInt(seconds / BUCKETS) * SECOND
}

const HOUR = 3600n * SECOND
const DAY = 24n * HOUR
/** Added to the start of a window, this is inside the next one. */
const LONGER_THAN: Readonly<Record<CalendarUnit, Instant>> = {
  hour: HOUR,
  day: DAY,
  week: 7n * DAY,
  month: 31n * DAY,
  year: 366n * DAY,
}

function startOf(unit: CalendarUnit, at: Instant): Instant {
  if (unit === 'hour') return at - (at % HOUR)
  const day = at - (at % DAY)
  if (unit === 'day') return day
  if (unit === 'week') return day - weekday(day) * DAY
  const text = writeInstant(day)
  return (
    readInstant(unit === 'month' ? `${text.slice(0, 7)}-01T00:00:00Z` : `${text.slice(0, 4)}-01-01T00:00:00Z`) ?? day
  )
}

/** 0 is Monday; the first day of 1970 was a Thursday. */
function weekday(day: Instant): bigint {
  return (day / DAY + 3n) % 7n
}

function nameOf(unit: CalendarUnit, start: Instant): string {
  const text = writeInstant(start)
  switch (unit) {
    case 'hour':
      return `hour:${text.slice(0, 13)}`
    case 'day':
      return `day:${text.slice(0, 10)}`
    case 'month':
      return `month:${text.slice(0, 7)}`
    case 'year':
      return `year:${text.slice(0, 4)}`
    case 'week':
      return `week:${isoWeek(start)}`
  }
}

/** A week belongs to the year of its Thursday (ISO 8601). */
function isoWeek(monday: Instant): string {
  const thursday = monday + 3n * DAY
  const week = (thursday - startOf('year', thursday)) / DAY / 7n + 1n
  return `${writeInstant(thursday).slice(0, 4)}-W${String(week).padStart(2, '0')}`
}
