import type { DatabaseSync } from 'node:sqlite'
import { DAY, type Instant, MINUTE } from '@chancery/protocol'
import { timeOfEvent } from './audit-log.ts'
import type { StateUsage } from './verify-state.ts'
import { pragma } from './state-file.ts'
import { readStateValues } from './state-values.ts'

/** Without a collector the oldest events are removed above this part of the capacity. Lists use the rest. */
export const RING_PART = 0.6

/** Hash, sequence and the overhead of a row. */
const ROW_BYTES = 90
const SAMPLE_ROWS = 1000
/** The events of a shorter time say little about a day, unless older ones were already removed. */
const LEAST_SPAN = 10n * MINUTE

export function usedBytes(db: DatabaseSync): number {
  return (pragma(db, 'page_count') - pragma(db, 'freelist_count')) * pragma(db, 'page_size')
}

export function measureUsage(db: DatabaseSync): StateUsage {
  const { pending_count } = readStateValues(db)
  const oldest = db.prepare('select body from audit join outbox using (sequence) order by sequence limit 1').get()
  return {
    bytes: pragma(db, 'page_count') * pragma(db, 'page_size'),
    usedBytes: usedBytes(db),
    pending: pending_count,
    oldestPendingAt: oldest === undefined ? undefined : timeOfEvent({ body: String(oldest['body']) }),
    bytesPerDay: measureGrowth(db),
  }
}

/** Returns what the events of the last day before the newest one added, for a whole day. */
function measureGrowth(db: DatabaseSync): number | undefined {
  const { first_sequence, head_sequence } = readStateValues(db)
  const find = db.prepare('select body from audit where sequence = ?')
  const timeAt = (sequence: number): Instant | undefined => {
    const row = find.get(sequence)
    return row === undefined ? undefined : timeOfEvent({ body: String(row['body']) })
  }
  const end = timeAt(head_sequence)
  if (end === undefined) return undefined
  let [low, high] = [first_sequence, head_sequence]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((timeAt(middle) ?? end) < end - DAY) low = middle + 1
    else high = middle
  }
  const span = end - (timeAt(low) ?? end)
  if (span <= 0n || (span < LEAST_SPAN && first_sequence === 1)) return undefined
  const sample = 'select avg(length(body)) as mean from (select body from audit order by sequence desc limit ?)'
  const mean = Number(db.prepare(sample).get(SAMPLE_ROWS)?.['mean'] ?? 0)
  return ((head_sequence - low) * (mean + ROW_BYTES) * Number(DAY)) / Number(span)
}

export interface Forecast {
  /** Set with a collector, when events arrive faster than they leave: from then on every request is refused. */
  readonly fullAt: Instant | undefined
  /** Set without a collector: the events of about this many days are stored. */
  readonly storedDays: number | undefined
}

/** The settings that a forecast uses. */
export interface ForecastSettings {
  readonly auditUrl: string | undefined
  readonly stateMaxBytes: number
  readonly auditRetentionDays: number
}

/** Says what becomes of the state at the rate of the last day. Both are undefined while the rate is unknown. */
export function forecast(usage: StateUsage, settings: ForecastSettings, now: Instant): Forecast {
  const { bytesPerDay, oldestPendingAt } = usage
  const { auditUrl, stateMaxBytes, auditRetentionDays } = settings
  if (bytesPerDay === undefined || bytesPerDay <= 0) return { fullAt: undefined, storedDays: undefined }
  if (auditUrl === undefined) return { fullAt: undefined, storedDays: (stateMaxBytes * RING_PART) / bytesPerDay }
  const days = Math.max(0, stateMaxBytes - usage.usedBytes) / bytesPerDay
  const isDelivered = oldestPendingAt === undefined || now - oldestPendingAt < DAY
  const isBounded = isDelivered && auditRetentionDays > 0 && days > auditRetentionDays
  return { fullAt: isBounded ? undefined : now + BigInt(Math.round(days * Number(DAY))), storedDays: undefined }
}
