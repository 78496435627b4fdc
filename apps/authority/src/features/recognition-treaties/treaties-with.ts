import { readInstant, writeSortable } from '@chancery/protocol'
import type { StoredTreaty } from '@chancery/protocol'
import type { RecognitionTreatiesParts } from './parts.ts'
import { findTreaty, listNewestFor } from './queries.ts'
import type { TreatyRow } from './queries.ts'

/** More than a decision reads, because rows that do not verify are left out. */
const MAX_UNENDED = 80
/** To explain why no treaty is in force. */
const MAX_ENDED = 8

/**
 * Returns the own treaties with a sovereign, newest first, each with a verified text: those that may be in force, or the
 * newest ones when none is. With an id, only that treaty.
 */
export async function findTreatiesWith(
  parts: RecognitionTreatiesParts,
  subject: string,
  treaty_id: string | undefined,
): Promise<readonly StoredTreaty[]> {
  const own = parts.network.name
  if (treaty_id !== undefined) {
    const row = await findTreaty(parts.database, treaty_id)
    const isOurs = row?.issuer_sovereign_id === own && row.subject_sovereign_id === subject
    return isOurs ? readAll(parts, [row]) : []
  }
  const now = parts.clock.now()
  const unended = await listNewestFor(parts.database, own, subject, {
    limit: MAX_UNENDED,
    unendedAt: writeSortable(now),
  })
  const hasBegun = unended.some(({ valid_from }) => (readInstant(valid_from) ?? now) <= now)
  if (hasBegun) return readAll(parts, unended)
  const newest = await listNewestFor(parts.database, own, subject, { limit: MAX_ENDED, unendedAt: undefined })
  const newestIds = new Set(newest.map((row) => row.treaty_id))
  // A treaty that begins within the clock tolerance is older than a revoked one, or among the newest.
  return readAll(parts, [...newest, ...unended.filter((row) => !newestIds.has(row.treaty_id))])
}

async function readAll(parts: RecognitionTreatiesParts, rows: readonly TreatyRow[]): Promise<readonly StoredTreaty[]> {
  const found: StoredTreaty[] = []
  for (const row of rows) {
    const treaty = await parts.verifiedTreaties.read(row)
    if (treaty !== undefined) found.push({ treaty, isActive: row.status === 'active' })
  }
  return found
}
