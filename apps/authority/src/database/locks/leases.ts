import { CLOCK_TOLERANCE, seconds, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Clock } from '@chancery/service-kit'
import type { Database, Transaction } from '../database.ts'

export interface LeaseParts {
  readonly database: Database
  readonly clock: Pick<Clock, 'now'>
  readonly instance: string
}

/** A lease on a named job. Every write done under it compares the token, so a paused holder's late writes fail. */
export interface Lease {
  readonly name: string
  readonly token: number
}

/** The lease was lost to another instance: what was to be written must not be. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Earlier than any clock: after a clock is set back the lease must still be free. */
const RELEASED = writeSortable(0n)

/** Runs `work` when no other instance holds the lease; otherwise does nothing. */
export async function withLease(
  parts: LeaseParts,
  name: string,
  ttlSeconds: number,
  work: (lease: Lease) => Promise<void>,
): Promise<void> {
  const lease = await acquire(parts, name, ttlSeconds)
  if (lease === undefined) return
  try {
    await work(lease)
  } finally {
    await release(parts, lease)
  }
}

/** One statement decides: a free or expired lease is taken with the next token. */
async function acquire(parts: LeaseParts, name: string, ttlSeconds: number): Promise<Lease | undefined> {
  const now = parts.clock.now()
  const [acquired_at, expires_at] = [writeSortable(now), writeSortable(now + seconds(ttlSeconds))]
  const row = await parts.database.write(({ query }) =>
    query
      .insertInto('job_leases')
      .values({ name, holder: parts.instance, token: 1, acquired_at, expires_at })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ holder: parts.instance, token: sql<number>`job_leases.token + 1`, acquired_at, expires_at })
          .where((eb) =>
            eb.or([
              eb('job_leases.expires_at', '<=', acquired_at),
              // Taken by a clock that was far ahead, and never let go: its end would not come. The token keeps writes apart.
              eb('job_leases.acquired_at', '>', writeSortable(now + CLOCK_TOLERANCE)),
            ]),
          ),
      )
      .returning('token')
      .executeTakeFirst(),
  )
  return row === undefined ? undefined : { name, token: row.token }
}

async function release(parts: LeaseParts, { name, token }: Lease): Promise<void> {
  await parts.database.write(({ query }) =>
    query
      .updateTable('job_leases')
      .set({ expires_at: RELEASED })
      .where('name', '=', name)
      .where('token', '=', token)
      .execute(),
  )
}

/** Compares the token inside the writing transaction, holding the lease row so that it cannot be taken meanwhile. */
export async function checkLease(tx: Transaction, { name, token }: Lease): Promise<void> {
  const held = await tx.query
    .updateTable('job_leases')
    .set({ name })
    .where('name', '=', name)
    .where('token', '=', token)
    .returning('token')
    .executeTakeFirst()
  if (held === undefined) throw new LeaseLostError(`the lease ${name} was taken by another instance`)
}

/** Holds the lease for longer. Throws when another instance has taken it. */
export async function extendLease(parts: LeaseParts, lease: Lease, ttlSeconds: number): Promise<void> {
  const expires_at = writeSortable(parts.clock.now() + seconds(ttlSeconds))
  await parts.database.write(async (tx) => {
    await checkLease(tx, lease)
    await tx.query.updateTable('job_leases').set({ expires_at }).where('name', '=', lease.name).execute()
  })
}
