import { type Instant, writeSortable } from '@chancery/protocol'
import type { Reader, Transaction } from './database.ts'

/** Stores when something last happened. */
export async function storeTime(tx: Pick<Transaction, 'query'>, name: string, when: Instant): Promise<void> {
  const at = writeSortable(when)
  await tx.query
    .insertInto('moments')
    .values({ name, at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

/** Returns the time of the last backup that a command recorded. */
export async function findStoredBackup(db: Reader): Promise<string | undefined> {
  return (await db.selectFrom('moments').select('at').where('name', '=', 'backup').executeTakeFirst())?.at
}

/** Returns the stored time of the last backup, or when the database was created. */
export async function findLastBackup(db: Reader): Promise<string | undefined> {
  const noted = await findStoredBackup(db)
  if (noted !== undefined) return noted
  return (await db.selectFrom('authority_identity').select('created_at').executeTakeFirst())?.created_at
}
