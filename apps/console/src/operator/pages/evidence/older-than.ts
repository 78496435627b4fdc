const DAY_MS = 86_400_000

/** Returns the days before now that begin at or before a date; undefined for a date that is not before today. */
export function olderThanDays(date: string, nowMs: number): number | undefined {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  const days = Math.ceil((nowMs - start) / DAY_MS)
  return Number.isNaN(start) || start > nowMs - DAY_MS || days > 36_500 ? undefined : days
}
