import type { Tx } from './database.ts'
import { undoneOn } from './transact.ts'

/** A real insert that is rolled back: a standby, a full disk or a read-only file refuses it. */
export async function probeWrite(db: Tx): Promise<void> {
  await undoneOn(db, (tx) =>
    tx
      .insertInto('rate_limit_windows')
      .values({ bucket: 'readiness-probe', window_start: 0, hits: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  )
}
