import { type Instant, writeSortable } from '@chancery/protocol'
import type { Transaction } from '../database/database.ts'

/**
 * Ends every invite that is unused in this database. Some of them may have been used after the backup, and the
 * high-water mark does not count certificates: an invite for one node must not admit a second one.
 */
export async function endInvites(tx: Transaction, now: Instant): Promise<void> {
  const expires_at = writeSortable(now)
  await tx.query
    .updateTable('invite_tokens')
    .set({ expires_at })
    .where('used_at', 'is', null)
    .where('expires_at', '>', expires_at)
    .execute()
}
