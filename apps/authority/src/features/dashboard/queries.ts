import type { Reader, Transaction } from '../../database/database.ts'

export interface ActivityMinute {
  readonly minute: string
  readonly active: number
  readonly tracked: number
  readonly expiring: number
}

/** The first instance that counts a minute writes the row. The others counted the same nodes. */
export async function insertMinute(db: Transaction, row: ActivityMinute): Promise<void> {
  await db.query
    .insertInto('activity_minutes')
    .values(row)
    .onConflict((conflict) => conflict.column('minute').doNothing())
    .execute()
}

export async function deleteMinutesBefore(db: Transaction, minute: string): Promise<void> {
  await db.query.deleteFrom('activity_minutes').where('minute', '<', minute).execute()
}

/** Oldest first. Both bounds apply: a minute in the future was counted by a clock that was ahead. */
export function listMinutes(db: Reader, from: string, to: string): Promise<readonly ActivityMinute[]> {
  return db
    .selectFrom('activity_minutes')
    .selectAll()
    .where('minute', '>=', from)
    .where('minute', '<=', to)
    .orderBy('minute')
    .execute()
}

/** Signed texts of these treaties. */
export function listTreatyTexts(
  db: Reader,
  ids: readonly string[],
): Promise<readonly { readonly treaty_id: string; readonly treaty_json: string }[]> {
  return db
    .selectFrom('recognition_treaties')
    .select(['treaty_id', 'treaty_json'])
    .where('treaty_id', 'in', ids)
    .execute()
}
