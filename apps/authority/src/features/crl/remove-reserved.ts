import { writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Transaction } from '../../database/database.ts'
import { digestOfList } from '../../rollback/positions.ts'
import type { CrlParts } from './parts.ts'

const MAX_REMOVED = 20

/**
 * While the reserve of the disk is in use, a list replaces the one before it: each contains all entries, so a thousand
 * of them would not fit. Sequence and digest stay. Lists of before stay whole.
 */
export async function removeReservedLists(tx: Transaction, parts: CrlParts, newest: number): Promise<void> {
  const ms = parts.database.room.reserveInUseMs
  if (ms === undefined) return
  const since = writeSortable(parts.clock.now() - BigInt(Math.ceil(ms)) * 1000n)
  const rows = await tx.query
    .selectFrom('crl_versions')
    .select(['sequence', 'crl_json', 'digest'])
    .where('sequence', '<', newest)
    .where('sequence', '!=', parts.rollback.mark?.crl?.sequence ?? -1)
    .where('issued_at', '>=', since)
    .orderBy('sequence')
    .limit(MAX_REMOVED)
    .execute()
  if (rows.length === 0) return
  const removed_at = writeSortable(parts.clock.now())
  const sequences = rows.map(({ sequence }) => sequence)
  await tx.query
    .insertInto('removed_crl_versions')
    .values(rows.map((row) => ({ sequence: row.sequence, digest: digestOfList(row), removed_at })))
    .execute()
  await tx.query.deleteFrom('crl_versions').where('sequence', 'in', sequences).execute()
  await tx.query.deleteFrom('former_crl_versions').where('sequence', 'in', sequences).execute()
  // Segments that no stored version has.
  await sql`delete from crl_segments where replaced_by is not null and not exists (select 1 from crl_versions v
    where v.sequence >= crl_segments.sequence and v.sequence < crl_segments.replaced_by)`.execute(tx.query)
}

/** The revocation is stored already: a failure only costs room. */
export async function reclaimRoom({ database, log }: CrlParts): Promise<void> {
  try {
    await database.room.reclaim()
  } catch (error) {
    log.warn('the room of removed lists could not be reclaimed', { error })
  }
}
