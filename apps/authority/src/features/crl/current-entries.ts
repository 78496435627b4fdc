import { type ListEntries, isLarge } from './entries-cache.ts'
import type { CrlState } from './state.ts'

/** Called after COMMIT only. States of lists before this one are removed from the thread. */
export function setCurrent(
  { entries, builder, log }: Pick<CrlState, 'entries' | 'builder' | 'log'>,
  stored: ListEntries,
): void {
  entries.set(stored)
  if (!isLarge(stored)) return
  builder.keep(stored.state).catch((error: unknown) => log.warn('the thread of the revocation list ended', { error }))
}
