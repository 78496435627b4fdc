import { CLOCK_TOLERANCE, type Instant, readInstant, writeInstant } from '@chancery/protocol'
import type { RecoveryParts } from './revoke-lost.ts'
import { isInFuture } from '../clock/date-after.ts'
import type { Transaction } from '../database/database.ts'
import { findActiveVersion } from '../features/crl/index.ts'
import { findOwnFeed } from '../features/revocation-feeds/index.ts'
import { NothingToRecoverError } from './recover.ts'

export interface ResignResult {
  readonly crlSequence: number | undefined
  readonly feedSequence: number | undefined
}

/** The clock is wrong, so nothing is signed. */
export class ClockError extends Error {
  override readonly name = 'ClockError'
}

/**
 * Signs list and feed again with this clock, which must show the time that the operator gives, if the last ones were
 * dated over 300 s ahead by a wrong clock (reliability 8). Verifiers refuse those until their time, and all later ones.
 * One audited transaction: sequences increase by one, and no revocation is undone.
 */
export async function resignLists(parts: RecoveryParts, reported: Instant): Promise<ResignResult> {
  const { database, clock, clockCheck, rollback } = parts
  await clockCheck.check()
  if (clockCheck.isHalted()) throw new ClockError('this clock differs from the database clock: correct it first')
  // A list also seems dated ahead to a slow clock, and dated back by it the list would be refused as a rollback.
  const difference = reported - clock.now()
  if (difference > CLOCK_TOLERANCE || difference < -CLOCK_TOLERANCE)
    throw new ClockError(`this clock shows ${writeInstant(clock.now())}: over 300 s from the time that was given`)
  if (rollback.isHalted()) throw new NothingToRecoverError(rollback.haltText)
  const redated = await database.write(
    async (tx) => {
      for (const head of ['crl', 'feed'] as const) await tx.lock(head)
      const now = clock.now()
      const list = await findActiveVersion(tx.query)
      const isListAhead = list !== undefined && isInFuture(list.issuedAt, now)
      const feed = await findOwnFeed(tx.query)
      const isFeedAhead = feed !== undefined && isInFuture(readInstant(feed.issued_at) ?? 0n, now)
      if (!isListAhead && !isFeedAhead)
        throw new NothingToRecoverError('neither list nor feed is dated over 300 s ahead of this clock')
      const heads = {
        crlSequence: isListAhead ? await parts.crl.resignList(tx, list) : undefined,
        feedSequence: isFeedAhead ? await redateFeed(tx, parts, feed.sequence) : undefined,
      }
      if (heads.crlSequence === undefined && heads.feedSequence === undefined)
        throw new NothingToRecoverError('the feed is full: no further one can be signed')
      await parts.audit.record(tx, { type: 'state_recovered', details: detailsOf(heads) })
      return heads
    },
    { unlimited: true },
  )
  await rollback.writeMark()
  return redated
}

/** Undefined when the feed is full, so that no other can follow it (decision 0004). */
async function redateFeed(tx: Transaction, parts: RecoveryParts, before: number): Promise<number | undefined> {
  const least = { sequence: 0, issuedAt: 0n, isRedated: true } as const
  const { sequence } = await parts.revocationFeeds.publishOwnFeed(tx, 'refresh', least)
  return sequence === before ? undefined : sequence
}

function detailsOf({ crlSequence, feedSequence }: ResignResult) {
  return {
    revocations: 0,
    agents: 0,
    ...(crlSequence === undefined ? {} : { crl_sequence: crlSequence }),
    ...(feedSequence === undefined ? {} : { feed_sequence: feedSequence }),
  }
}
