import { LIMITS } from '@chancery/contract'
import { seconds, sha256, toUtf8, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { Batcher } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import type { NonceClaim, Database } from '../database/database.ts'

/** Spends nonces. Claims that arrive while one batch commits share the next. */
export type NonceQueue = Batcher<NonceClaim, boolean>

export function openNonceQueue(database: Database): NonceQueue {
  return new Batcher(async (claims) => [...(await database.claimNonces(claims))], { maxItems: 200, maxWaiting: 10_000 })
}

/**
 * Claims (scope, nonce) once. Returns true when it was new. Only requests with a verified signature get here, so
 * unauthenticated callers can neither probe nor fill the table. A row stays longer than the tolerance after the signed
 * timestamp: deleting it earlier would allow a replay.
 */
export function consumeNonce(book: NonceQueue, scope: string, nonce: string, signedAt: Instant): Promise<boolean> {
  return book.add(toClaim(scope, nonce, signedAt))
}

/** The row of a nonce, for statements that spend it together with the change it permits. */
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

/** Removes nonces that can no longer be replayed, in limited statements until none is left. */
export async function purgeNonces(database: Database, clock: Pick<Clock, 'now'>, signal: AbortSignal): Promise<void> {
  for (let removed = PURGE_BATCH; removed === PURGE_BATCH && !signal.aborted;) {
    // Stored longer than any instance needs: an instance with a fast clock must not delete rows that one with a slow
    // clock needs.
    const before = writeSortable(clock.now() - PURGE_MARGIN)
    const batch = database.read.selectFrom('nonces').select('claim').where('expires_at', '<', before).limit(PURGE_BATCH)
    const { numDeletedRows } = await database.read.deleteFrom('nonces').where('claim', 'in', batch).executeTakeFirst()
    removed = Number(numDeletedRows)
  }
}
