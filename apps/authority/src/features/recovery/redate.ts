import { readInstant } from '@chancery/protocol'
import { recordAudit } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { isFarAhead } from '../../signing/dating.ts'
import type { Tx } from '../../store/database.ts'
import { listRevokedAttestations } from '../attestations/index.ts'
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
 * Signs list and feed again by this clock where the last ones were dated over 300 s ahead of it, by a clock that was
 * wrong (reliability 8). Verifiers refuse those until their time has come, and all that is dated after them with them.
 * One audited transaction; numbers go up by one, and nothing that was withdrawn is taken back.
 */
export async function redateHeads(office: Office): Promise<Redated> {
  const { store, clock, clockWatch, rollbackWatch } = office
  await clockWatch.check()
  if (clockWatch.isHalted()) throw new ClockUnfit('this clock differs from that of the database; set it right first')
  if (rollbackWatch.isHalted())
    throw new NothingToRecover('the database is behind what was published: first recover without --dated-ahead')
  const redated = await store.transact(async (tx) => {
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
      feedSequence: isFeedAhead ? await redateFeed(tx, office) : undefined,
    }
    await recordAudit(tx, office, { type: 'state_recovered', details: detailsOf(heads) })
    return heads
  })
  await rollbackWatch.keep()
  return redated
}

async function redateFeed(tx: Tx, office: Office): Promise<number> {
  const least = { sequence: 0, issuedAt: 0n, isRedated: true } as const
  return (await publishOwnFeed(tx, office, await listRevokedAttestations(tx), least)).sequence
}

function detailsOf({ crlSequence, feedSequence }: Redated) {
  return {
    revocations: 0,
    agents: 0,
    ...(crlSequence === undefined ? {} : { crl_sequence: crlSequence }),
    ...(feedSequence === undefined ? {} : { feed_sequence: feedSequence }),
  }
}
