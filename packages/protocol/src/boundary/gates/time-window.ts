import type { JsonObject, JsonValue } from '../../canonical/utf8.ts'
import { DAY, HOUR, type Instant, hasOffset, readInstant } from '../../canonical/time.ts'
import { FormError, type Read, described } from '../../reading/schema.ts'
import { arrayOf, closed, integer, withDefault } from '../../reading/shape.ts'
import { instantOf } from '../../reading/text.ts'
import { type FactVerdict, type GateType, readConfig } from './gate.ts'

/** A bound without an offset would mean another instant to every reader. */
const boundary: Read<Instant | undefined> = described(
  (value: JsonValue, field) => {
    const instant = typeof value === 'string' && hasOffset(value) ? readInstant(value) : undefined
    if (instant === undefined) throw new FormError(field, 'an ISO 8601 instant with an offset is needed')
    return instant
  },
  () => ({ type: 'string', format: 'date-time' }),
)

const shape = closed({
  not_before: withDefault(boundary, undefined),
  not_after: withDefault(boundary, undefined),
  weekdays: withDefault<readonly number[] | undefined>(arrayOf(integer(1, 7), { min: 1, max: 256 }), undefined),
  utc_hour_start: withDefault<number | undefined>(integer(0, 23), undefined),
  utc_hour_end: withDefault<number | undefined>(integer(1, 24), undefined),
})
export const timeWindowConfig: Read<unknown> = shape

type Window = ReturnType<typeof shape>

/** The time of the request, which is the authority's own clock, must lie in the window. All bounds are in UTC. */
export const timeWindow: GateType = {
  name: 'time_window.v1',
  prepare(config) {
    const window = readWindow(config)
    return ({ context }) => {
      const [outcome, text] = checkFact(window, instantOf(context.requested_at))
      return {
        outcome,
        text,
        path: 'requested_at',
        type: 'timestamp',
        value: context.requested_at,
        condition: config,
        // The decision itself carries this time, so there is nothing to keep back.
        isPublic: true,
      }
    }
  },
}

function readWindow(config: JsonObject): Window {
  if (Object.keys(config).length === 0) throw new FormError('', 'at least one bound is needed')
  const window = readConfig(shape, config)
  const { not_before, not_after, utc_hour_start: start, utc_hour_end: end } = window
  if (not_before !== undefined && not_after !== undefined && not_before >= not_after)
    throw new FormError('not_after', 'must be later than not_before')
  if ((start === undefined) !== (end === undefined)) throw new FormError('utc_hour_start', 'comes with utc_hour_end')
  if (start !== undefined && end !== undefined && start >= end)
    throw new FormError('utc_hour_end', 'must be later than utc_hour_start')
  return window
}

function checkFact(window: Window, at: Instant): FactVerdict {
  const { not_before, not_after, weekdays, utc_hour_start: start, utc_hour_end: end } = window
  if (not_before !== undefined && at < not_before) return ['fail', 'before not_before']
  if (not_after !== undefined && at > not_after) return ['fail', 'after not_after']
  if (weekdays !== undefined && !weekdays.includes(weekdayOf(at))) return ['fail', 'not on one of the weekdays']
  const hour = Number(floorModulo(at, DAY) / HOUR)
  if (start !== undefined && end !== undefined && (hour < start || hour >= end)) return ['fail', 'outside the hours']
  return ['pass', 'inside the window']
}

/** 1 for Monday to 7 for Sunday; the first of January 1970 was a Thursday. */
function weekdayOf(at: Instant): number {
  const days = (at - floorModulo(at, DAY)) / DAY
  return Number(floorModulo(days + 3n, 7n)) + 1
}

function floorModulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by
}
