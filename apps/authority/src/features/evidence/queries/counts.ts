import { type Instant, writeSortable } from '@chancery/protocol'
import type { Reader } from '../../../database/database.ts'

export interface CountRequest {
  readonly since: Instant
  readonly until: Instant
  readonly isByHour: boolean
  readonly isByOutcome: boolean
  readonly split: 'total' | 'capability' | 'policy'
  readonly maxNames: number
}

export interface HourCount {
  readonly hour: string
  readonly name: string
  readonly outcome: string
  readonly decisions: number
}

/** Counter rows of one response: callers choose the capability, so an hour can have any number of them. */
const MAX_ROWS = 50_000

/** The names with the most decisions come first. Not complete: there are more names, or too many rows. */
export async function readHourCounts(
  db: Reader,
  request: CountRequest,
): Promise<{ readonly rows: readonly HourCount[]; readonly isComplete: boolean }> {
  const rows = await db
    .selectFrom('decision_hours')
    .select(['hour', 'name', 'outcome', 'decisions'])
    .where('split', '=', request.split)
    .where('hour', '>=', writeSortable(request.since))
    .where('hour', '<', writeSortable(request.until))
    .orderBy('hour', 'desc')
    .limit(MAX_ROWS + 1)
    .execute()
  const names = rankNames(rows)
  const shown = new Map(names.slice(0, request.maxNames).map((name, at) => [name, at]))
  const summed = new Map<string, HourCount>()
  for (const row of rows) {
    if (!shown.has(row.name)) continue
    const hour = request.isByHour ? row.hour : ''
    const outcome = request.isByOutcome ? row.outcome : ''
    const key = JSON.stringify([hour, row.name, outcome])
    const decisions = (summed.get(key)?.decisions ?? 0) + Number(row.decisions)
    summed.set(key, { hour, name: row.name, outcome, decisions })
  }
  const rank = (row: HourCount): number => shown.get(row.name) ?? 0
  const sorted = [...summed.values()].toSorted(
    (a, b) => rank(a) - rank(b) || compare(a.hour, b.hour) || compare(a.outcome, b.outcome),
  )
  return { rows: sorted, isComplete: rows.length <= MAX_ROWS && names.length <= request.maxNames }
}

function rankNames(rows: readonly HourCount[]): readonly string[] {
  const sums = new Map<string, number>()
  for (const { name, decisions } of rows) sums.set(name, (sums.get(name) ?? 0) + Number(decisions))
  return [...sums].toSorted((a, b) => b[1] - a[1] || compare(a[0], b[0])).map(([name]) => name)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
