import { LIMITS } from '@chancery/contract'
import { type Instant, seconds, sha256, toUtf8, writeSortable } from '@chancery/protocol'
import { Batcher, type Clock } from '@chancery/service-kit'
import type { Database, Reader, RoomOption, Statement, Transaction } from '../database/database.ts'

/** Stores a nonce as a digest of its scope and value: fixed width whatever their length. */
export interface NonceClaim {
  readonly claim: Uint8Array
  readonly expires_at: string
}

const INSERT_CLAIMS = 'insert into nonces (claim, expires_at)'

/** Returns the claims that were new. Rows are in the order of their claims, so two instances cannot deadlock. */
const CLAIM_NONCES: Statement<readonly NonceClaim[], { readonly claim: Uint8Array }> = {
  name: 'claim-nonces',
  postgres: {
    text: `${INSERT_CLAIMS} select * from unnest($1::bytea[], $2::text[]) on conflict do nothing returning claim`,
    values: (rows) => [
      rows.map(({ claim }) => Buffer.from(claim.buffer, claim.byteOffset, claim.byteLength)),
      rows.map(({ expires_at }) => expires_at),
    ],
  },
  sqlite(prepare, rows) {
    const insert = prepare(`${INSERT_CLAIMS} values (?, ?) on conflict do nothing`)
    return rows.filter((row) => insert.run(row.claim, row.expires_at).changes === 1)
  },
}

/**
 * Spends claims, each at most once over all instances and restarts. Returns for each row whether it was new; of equal
 * claims in one batch the first wins. Committed when it returns.
 */
export async function claimNonces(
  database: Pick<Database, 'run'>,
  rows: readonly NonceClaim[],
  options: RoomOption = {},
): Promise<readonly boolean[]> {
  const hex = rows.map((row) => Buffer.from(row.claim).toString('hex'))
  const order = rows.map((row, index) => ({ row, key: hex[index] ?? '' })).sort((a, b) => (a.key < b.key ? -1 : 1))
  const fresh = await database.run(
    CLAIM_NONCES,
    order.map(({ row }) => row),
    options,
  )
  const won = new Set(fresh.map(({ claim }) => Buffer.from(claim).toString('hex')))
  // `delete` returns true once: of equal claims in the batch the first gets the row, the others are replays.
  return hex.map((claim) => won.delete(claim))
}

/** Spends nonces; claims that arrive during a batch share the next one. */
export type NonceQueue = Batcher<NonceClaim, boolean>

export function openNonceQueue(database: Pick<Database, 'run'>, options?: RoomOption): NonceQueue {
  return new Batcher(async (claims) => [...(await claimNonces(database, claims, options))], {
    maxItems: 200,
    maxWaiting: 10_000,
  })
}

/** A queue for all calls, and one for operators who revoke: a full disk still takes theirs. */
export function openNonceQueues(database: Pick<Database, 'run'>): {
  readonly nonces: NonceQueue
  readonly revocationNonces: NonceQueue
} {
  return { nonces: openNonceQueue(database), revocationNonces: openNonceQueue(database, { room: 'revocation' }) }
}

/**
 * Claims (scope, nonce) permanently; true when it was new. Called only for requests with a verified signature, so
 * unauthenticated callers cannot probe or fill the table. A row outlives the signed timestamp by more than the
 * tolerance: deleting it earlier would reopen the replay window.
 */
export function consumeNonce(queue: NonceQueue, scope: string, nonce: string, signedAt: Instant): Promise<boolean> {
  return queue.add(toClaim(scope, nonce, signedAt))
}

/** Spends a nonce in the transaction of the change it allows; false when it was spent before. */
export async function spendNonceInside(tx: Transaction, claim: NonceClaim): Promise<boolean> {
  const row = await tx.query
    .insertInto('nonces')
    .values(claim)
    .onConflict((conflict) => conflict.doNothing())
    .returning('expires_at')
    .executeTakeFirst()
  return row !== undefined
}

/** Whether a nonce was spent, for what must not count twice. Only a claim decides. */
export async function isNonceSpent(db: Reader, { claim }: NonceClaim): Promise<boolean> {
  const row = await db.selectFrom('nonces').select('expires_at').where('claim', '=', claim).executeTakeFirst()
  return row !== undefined
}

/** Returns the row of a nonce, for statements that spend it with the change it allows. */
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

/** Removes nonces that can no longer be replayed, in bounded statements. */
export async function purgeNonces(database: Database, clock: Pick<Clock, 'now'>, signal: AbortSignal): Promise<void> {
  for (let removed = PURGE_BATCH; removed === PURGE_BATCH && !signal.aborted;) {
    // Stored longer than any instance needs: an instance with a fast clock must not purge for one with a slow clock.
    const before = writeSortable(clock.now() - PURGE_MARGIN)
    const { numDeletedRows } = await database.write(({ query }) => {
      const batch = query.selectFrom('nonces').select('claim').where('expires_at', '<', before).limit(PURGE_BATCH)
      return query.deleteFrom('nonces').where('claim', 'in', batch).executeTakeFirst()
    })
    removed = Number(numDeletedRows)
  }
}
