import { LIMITS } from '@chancery/contract'
import { seconds, sha256, toUtf8, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { Batcher } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import type { NonceClaim, Database } from '../database/database.ts'

/** Spends nonces; claims that arrive while one batch commits share the next. */
export type NonceQueue = Batcher<NonceClaim, boolean>

export function openNonceQueue(database: Database): NonceQueue {
  return new Batcher(async (claims) => [...(await database.claimNonces(claims))], { maxItems: 200, maxWaiting: 10_000 })
}

/**
 * Claims (scope, nonce) once and for all; true when it was fresh. Only requests whose signature verified come here,
 * so strangers cannot probe or fill the table. A row outlives the signed timestamp by more than the tolerance:
 * deleting earlier would reopen the replay window.
 */
export function consumeNonce(book: NonceQueue, scope: string, nonce: string, signedAt: Instant): Promise<boolean> {
  return book.add(toClaim(scope, nonce, signedAt))
}

/** The row a nonce becomes, for statements that spend it together with what it allows. */
export function toClaim(scope: string, nonce: string, signedAt: Instant): NonceClaim {
  const expires = signedAt + seconds(LIMITS.nonceRetentionSeconds)
  return { claim: claimOf(scope, nonce), expires_at: writeSortable(expires) }
}

/** 128 bits of SHA-256. Neither part can contain the line break between them, so no two pairs share a claim. */
function claimOf(scope: string, nonce: string): Uint8Array {
  return sha256(toUtf8(`${scope}\n${nonce}`)).subarray(0, 16)
}

const PURGE_BATCH = 10_000
const PURGE_MARGIN = seconds(600)

/** Removes what can no longer be replayed, in bounded statements until nothing is left to remove. */
export async function purgeNonces(database: Database, clock: Pick<Clock, 'now'>, signal: AbortSignal): Promise<void> {
  for (let removed = PURGE_BATCH; removed === PURGE_BATCH && !signal.aborted;) {
    // Kept longer than any instance needs: one whose clock is ahead must not forget for one whose clock is behind.
    const before = writeSortable(clock.now() - PURGE_MARGIN)
    const batch = database.read.selectFrom('nonces').select('claim').where('expires_at', '<', before).limit(PURGE_BATCH)
    const { numDeletedRows } = await database.read.deleteFrom('nonces').where('claim', 'in', batch).executeTakeFirst()
    removed = Number(numDeletedRows)
  }
}
