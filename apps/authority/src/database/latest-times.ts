import { writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Tx } from './database.ts'

/** Notes when something last happened. */
export async function storeTime(tx: Tx, name: string, when: Instant): Promise<void> {
  const at = writeSortable(when)
  await tx
    .insertInto('moments')
    .values({ name, at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

/** As stored. A database of which no backup is known is as long without one as it is old. */
export async function findLastBackup(db: Tx): Promise<string | undefined> {
  const noted = await db.selectFrom('moments').select('at').where('name', '=', 'backup').executeTakeFirst()
  if (noted !== undefined) return noted.at
  return (await db.selectFrom('authority_identity').select('created_at').executeTakeFirst())?.created_at
}
