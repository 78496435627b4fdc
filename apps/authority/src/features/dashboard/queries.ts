import type { Tx } from '../../database/database.ts'

export interface ActivityMinute {
  readonly minute: string
  readonly active: number
  readonly tracked: number
  readonly expiring: number
}

/** The first instance that counts a minute writes the row. The others counted the same nodes. */
export async function insertMinute(db: Tx, row: ActivityMinute): Promise<void> {
  await db
    .insertInto('activity_minutes')
    .values(row)
    .onConflict((conflict) => conflict.column('minute').doNothing())
    .execute()
}

export async function deleteMinutesBefore(db: Tx, minute: string): Promise<void> {
  await db.deleteFrom('activity_minutes').where('minute', '<', minute).execute()
}

/** Oldest first. Both bounds apply: a minute in the future was counted by a clock that was ahead. */
export function listMinutes(db: Tx, from: string, to: string): Promise<readonly ActivityMinute[]> {
  return db
    .selectFrom('activity_minutes')
    .selectAll()
    .where('minute', '>=', from)
    .where('minute', '<=', to)
    .orderBy('minute')
    .execute()
}
