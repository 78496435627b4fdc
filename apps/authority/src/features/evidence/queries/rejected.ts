import type { Reader } from '../../../database/database.ts'
import type { EntryRow, RejectionRow } from './entries.ts'

/** How far a list of refused submissions was read, in the chain and in the table. */
export interface RejectedPosition {
  readonly before: number
  readonly row: Pick<RejectionRow, 'rejected_at' | 'rejection_id'> | undefined
}

export function listRejectedEntries(
  db: Reader,
  range: { readonly after: number; readonly before: number; readonly limit: number },
): Promise<readonly Pick<EntryRow, 'store_sequence' | 'recorded_at' | 'line'>[]> {
  return db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'recorded_at', 'line'])
    .where('entry_kind', '=', 'rejection')
    .where('store_sequence', '>', range.after)
    .where('store_sequence', '<', range.before)
    .orderBy('store_sequence', 'desc')
    .limit(range.limit)
    .execute()
}

export function listRejectedRows(
  db: Reader,
  range: { readonly before: RejectedPosition['row']; readonly limit: number },
): Promise<readonly RejectionRow[]> {
  const { before } = range
  let query = db.selectFrom('evidence_rejections').selectAll()
  if (before !== undefined)
    query = query
      .where('rejected_at', '<=', before.rejected_at)
      .where((eb) => eb.or([eb('rejected_at', '<', before.rejected_at), eb('rejection_id', '<', before.rejection_id)]))
  return query.orderBy('rejected_at', 'desc').orderBy('rejection_id', 'desc').limit(range.limit).execute()
}
