import { asJson, readInstant, readJson, readKeyHistory, readTrustHistory, writeInstant } from '@chancery/protocol'
import type { HistoryGap, Instant, TrustHistory, TrustHistoryPage } from '@chancery/protocol'
import { MAX_GAPS } from '@chancery/protocol'
import { readRecoveries, unsettledTime } from './queries.ts'
import type { HistoryParts } from './parts.ts'

/** The page without records. */
export type StatedFacts = Pick<TrustHistory, 'covers' | 'treaties_with' | 'standings'>

/**
 * Signs what is stored about some records. `now` is from before the rows were read: a later change must not count as
 * stated.
 */
export async function signStatement(parts: HistoryParts, now: Instant, facts: StatedFacts): Promise<TrustHistory> {
  const draft = {
    history_id: parts.ids.uuid(),
    network_name: parts.network.name,
    issued_at: writeInstant(now),
    known_until: writeInstant(now - unsettledTime(parts.database)),
    gaps: await findGaps(parts),
    ...facts,
    issued_by: parts.signing.keyId,
    signatures: [],
  }
  return readTrustHistory(asJson(await parts.signing.sign(asJson(draft))))
}

/** Times of which changes may be lost. Of more recoveries than a statement can name, everything before them is lost. */
async function findGaps({ database }: HistoryParts): Promise<readonly HistoryGap[]> {
  const rows = await readRecoveries(database.read, MAX_GAPS + 1)
  const gaps = rows.slice(0, MAX_GAPS).map(({ recovered_at, known_until }): HistoryGap => {
    const last = readInstant(known_until ?? '')
    const until = readInstant(recovered_at)
    if (until === undefined) throw new Error('a recovery has no time')
    return {
      from: last === undefined ? null : writeInstant(last - unsettledTime(database)),
      until: writeInstant(until),
    }
  })
  if (rows.length <= MAX_GAPS) return gaps
  return gaps.map((gap, at) => (at === gaps.length - 1 ? { ...gap, from: null } : gap))
}

/** The key records of the authority, which every page carries. */
export function keyRecords({ network, keys }: HistoryParts): Pick<TrustHistoryPage, 'genesis' | 'key_history'> {
  const { historyText } = keys
  return {
    genesis: network.genesis,
    key_history: historyText === undefined ? null : readKeyHistory(readJson(historyText)),
  }
}
