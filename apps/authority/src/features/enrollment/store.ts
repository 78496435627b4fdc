import { LIMITS } from '@chancery/contract'
import { seconds, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'

export async function countCertificates(db: Tx, status?: 'issued' | 'revoked'): Promise<number> {
  let query = db.selectFrom('issued_certs').select((eb) => eb.fn.countAll<number>().as('count'))
  if (status !== undefined) query = query.where('status', '=', status)
  return Number((await query.executeTakeFirst())?.count ?? 0)
}

/** Not revoked, not superseded, heard of within the window (protocol/core 19). */
export async function countActiveNodes(db: Tx, now: Instant): Promise<number> {
  const since = writeSortable(now - seconds(LIMITS.activeNodeWindowSeconds))
  const row = await db
    .selectFrom('issued_certs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('status', '=', 'issued')
    .where('last_heartbeat', '>', since)
    .where((eb) => eb.or([eb('revoke_after', 'is', null), eb('revoke_after', '>', writeSortable(now))]))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
