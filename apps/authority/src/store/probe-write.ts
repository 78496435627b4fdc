import type { Tx } from './database.ts'

/** A real insert in a transaction that is rolled back: a standby, a full disk or a read-only file refuses it. */
export async function probeWrite(db: Tx): Promise<void> {
  const tx = await db.startTransaction().execute()
  try {
    await tx
      .insertInto('rate_limit_windows')
      .values({ bucket: 'readiness-probe', window_start: 0, hits: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  } finally {
    await tx.rollback().execute()
  }
}
