import { CLOCK_TOLERANCE, readInstant, writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { sql } from 'kysely'
import { recordAudit } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { isFarAhead } from '../../signing/dating.ts'
import type { Tx } from '../../store/database.ts'
import { findActiveVersion, redateList } from '../crl/index.ts'
import { findOwnFeed, publishOwnFeed } from '../revocation-feeds/index.ts'
import { NothingToRecover } from './recover.ts'

export interface Redated {
  readonly crlSequence: number | undefined
  readonly feedSequence: number | undefined
}

/** Signs nothing by a clock that is wrong itself. */
export class ClockUnfit extends Error {
  override readonly name = 'ClockUnfit'
}

/**
 * Signs list and feed again by this clock, which must show the time that the operator reads elsewhere, where the last
 * ones were dated over 300 s ahead of it by a clock that was wrong (reliability 8). Verifiers refuse those until their
 * time has come, and all that is dated after them with them. One audited transaction; numbers go up by one, and nothing
 * that was withdrawn is taken back.
 */
export async function redateHeads(office: Office, told: Instant): Promise<Redated> {
  const { store, clock, clockWatch, rollbackWatch } = office
  await clockWatch.check()
  if (clockWatch.isHalted()) throw new ClockUnfit('this clock differs from that of the database; set it right first')
  // A list looks ahead to a clock that is behind, too, and dated back by that one it would be refused as a rollback.
  const difference = told - clock.now()
  if (difference > CLOCK_TOLERANCE || difference < -CLOCK_TOLERANCE)
    throw new ClockUnfit(`this clock shows ${writeInstant(clock.now())}: over 300 s from the time that was given`)
  if (rollbackWatch.isHalted())
    throw new NothingToRecover('the database is behind what was published: first recover without --dated-ahead')
  const redated = await store.transact(async (tx) => {
    // A long list takes longer than any statement of a request may.
    if (store.backend === 'postgres') await sql`set local statement_timeout = 0`.execute(tx)
    for (const head of ['crl', 'feed']) await store.lockHead(tx, head)
    const now = clock.now()
    const list = await findActiveVersion(tx)
    const isListAhead = list !== undefined && isFarAhead(list.issuedAt, now)
    const feed = await findOwnFeed(tx)
    const isFeedAhead = feed !== undefined && isFarAhead(readInstant(feed.issued_at) ?? 0n, now)
    if (!isListAhead && !isFeedAhead)
      throw new NothingToRecover('neither list nor feed is dated over 300 s ahead of this clock')
    const heads = {
      crlSequence: isListAhead ? await redateList(tx, office, list) : undefined,
      feedSequence: isFeedAhead ? await redateFeed(tx, office, feed.sequence) : undefined,
    }
    if (heads.crlSequence === undefined && heads.feedSequence === undefined)
      throw new NothingToRecover('the feed is full: no further one can be signed')
    await recordAudit(tx, office, { type: 'state_recovered', details: detailsOf(heads) })
    return heads
  })
  await rollbackWatch.keep()
  return redated
}

/** Undefined when it is full, so that none can follow it (decision 0011). */
async function redateFeed(tx: Tx, office: Office, before: number): Promise<number | undefined> {
  const least = { sequence: 0, issuedAt: 0n, isRedated: true } as const
  const { sequence } = await publishOwnFeed(tx, office, 'refresh', least)
  return sequence === before ? undefined : sequence
}

function detailsOf({ crlSequence, feedSequence }: Redated) {
  return {
    revocations: 0,
    agents: 0,
    ...(crlSequence === undefined ? {} : { crl_sequence: crlSequence }),
    ...(feedSequence === undefined ? {} : { feed_sequence: feedSequence }),
  }
}
