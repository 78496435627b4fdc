import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import type { Effect } from '../../signing/act.ts'

const DAY_MS = 86_400_000

/** Returns the days before now that begin at or before a date; undefined for a date that is not before today. */
export function olderThanDays(date: string, nowMs: number): number | undefined {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  const days = Math.ceil((nowMs - start) / DAY_MS)
  return Number.isNaN(start) || start > nowMs - DAY_MS || days > 36_500 ? undefined : days
}

/** A dry run that is not complete read only the first entries; the removal has no such limit. */
export function removalEffect(date: string, dryRun: JsonObject | undefined): Effect {
  const isComplete = dryRun?.['complete'] === true
  const [count, last] = [plain(dryRun?.['removed_count']), plain(dryRun?.['removed_through_sequence'])]
  const bad = { shape: 'cross', tone: 'bad', more: 'The authority verifies them first.' } as const
  if (dryRun?.['would_change'] === true)
    return isComplete
      ? { ...bad, text: `${count} entries are removed, up to #${last}` }
      : { ...bad, text: `At least ${count} entries are removed, up to #${last} or later` }
  return isComplete
    ? { shape: 'dash', tone: 'ended', text: `No entry from before ${date} can be removed` }
    : { ...bad, text: 'How many entries are removed is not known. There are too many for a dry run.' }
}
