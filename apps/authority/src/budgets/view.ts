import {
  type Amount,
  type BudgetView,
  type BudgetWindow,
  type Instant,
  type JsonObject,
  isCounted,
  isJsonObject,
  readInstant,
  readJson,
  readWindowForm,
  scaleOf,
  windowAt,
  writeAmount,
  writeSortable,
} from '@chancery/protocol'
import type { Tables } from '../database/tables.ts'
import type { CounterRows } from './counter-rows.ts'

/** What a counter is about, and its limit now. */
export interface DescribedCounter {
  readonly budget_key: string
  readonly source: string
  readonly measure: JsonObject
  readonly per: JsonObject
  readonly unit: string | null
  readonly window: BudgetWindow
  readonly scale: number
  readonly limit: Amount
  readonly counts: string
}

/** What a stored counter is about. Its limit is that of the last decision. */
export function readCounter(row: Tables['budgets']): DescribedCounter {
  const identity = readJson(row.identity_json)
  if (isJsonObject(identity)) {
    const { measure, per, unit = null } = identity
    const [window, scale] = [readWindowForm(identity['window']), scaleOf(measure)]
    const isWhole = isJsonObject(measure) && isJsonObject(per) && (unit === null || typeof unit === 'string')
    if (isWhole && window !== undefined && scale !== undefined) {
      const { budget_key, source, counts, last_limit } = row
      return { budget_key, source, measure, per, unit, window, scale, limit: BigInt(last_limit), counts }
    }
  }
  throw new TypeError('a stored budget has another form')
}

export interface UsedCounter {
  readonly used: Amount
  readonly reserved: Amount
}

/** What a counter has at a time. */
export function usedOf(
  { budget_key, window }: Pick<DescribedCounter, 'budget_key' | 'window'>,
  rows: Pick<CounterRows, 'sums' | 'open'>,
  at: Instant,
): UsedCounter {
  const now = writeSortable(at)
  const isOfWindow = (row: { readonly budget_key: string; readonly slot: number }): boolean =>
    row.budget_key === budget_key && isCounted(window, BigInt(row.slot), at)
  const final = rows.sums.filter(isOfWindow).reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  const reserved = rows.open
    .filter((use) => isOfWindow(use) && use.live_until !== null && use.live_until >= now)
    .reduce((sum, { asked }) => sum + BigInt(asked), 0n)
  return { used: final + reserved, reserved }
}

/** The counter in its present window. */
export function describeCounter(counter: DescribedCounter, { used, reserved }: UsedCounter, at: Instant): BudgetView {
  const { budget_key, source, measure, per, unit, window, scale, limit, counts } = counter
  const rest = limit - used
  return {
    budget_key,
    source,
    measure,
    per,
    unit,
    window: { ...windowAt(window, at) },
    limit: writeAmount(limit, scale),
    counts,
    used: writeAmount(used, scale),
    reserved: writeAmount(reserved, scale),
    remaining: writeAmount(rest < 0n ? 0n : rest, scale),
  }
}

export type BudgetState = 'open' | 'warning' | 'exhausted'

export function stateOf({ limit }: DescribedCounter, { used }: UsedCounter, warningPercent: number): BudgetState {
  const percent = percentOf(used, limit)
  return percent >= 100 ? 'exhausted' : percent >= warningPercent ? 'warning' : 'open'
}

/** Rounded down. */
export function percentOf(used: Amount, limit: Amount): number {
  return Number((used * 100n) / limit)
}

/** When the present window of a counter ends. */
export function windowEnd({ window }: Pick<DescribedCounter, 'window'>, at: Instant): Instant {
  return readInstant(windowAt(window, at).until) ?? at
}
