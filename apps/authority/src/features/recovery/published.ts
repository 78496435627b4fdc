import {
  FormError,
  JsonError,
  READ_LIMITS,
  readCrl,
  readJson,
  readRevocationFeed,
  verifyList,
  writeInstant,
} from '@chancery/protocol'
import type { JsonObject, Signature } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import type { HighWater } from '../../signing/high-water.ts'
import { digestOf, readHeads } from '../../store/high-water-heads.ts'

/** A kept list is as long as a list may get. */
export const LIST_LIMITS = { ...READ_LIMITS, maxValues: 2_000_000, maxNames: 200_000 }

/** What others still hold of what this authority said, as they received it. */
export interface Published {
  readonly crl?: string
  readonly feed?: string
}

/** A file that was given is not a list or a feed of this authority. */
export class PublishedUnusable extends Error {
  override readonly name = 'PublishedUnusable'
}

/**
 * The kept mark, or how far the database itself has come, raised to what others hold: a gateway or a mirror may have a
 * newer list than the last mark, or be the only one left that has any.
 */
export async function raiseMark(office: Office, { crl, feed }: Published): Promise<HighWater> {
  const { store, genesis, clock, rollbackWatch, ownKeys } = office
  const kept = rollbackWatch.mark
  const facts = { network_name: genesis.network_name, written_at: writeInstant(clock.now()) }
  let mark: HighWater = kept ?? { mark_version: 1, ...facts, ...(await readHeads(store.db)) }
  if (crl !== undefined) {
    const { sequence } = await readOwn('--crl', crl, readCrl, ownKeys.current)
    if (sequence > (mark.crl?.sequence ?? -1))
      mark = { ...mark, crl: { sequence, digest: digestOf(crl) }, last_crl: crl }
  }
  if (feed !== undefined) {
    const { sequence, issuer_sovereign_id } = await readOwn('--feed', feed, readRevocationFeed, ownKeys.current)
    if (issuer_sovereign_id !== genesis.network_name)
      throw new PublishedUnusable(`--feed: is the feed of ${issuer_sovereign_id}`)
    if (sequence > (mark.feed?.sequence ?? -1))
      mark = { ...mark, feed: { sequence, digest: digestOf(feed) }, last_feed: feed }
  }
  return mark
}

/** Read as what it is said to be, and signed by our present key: the list of a former one names its own certificates only. */
async function readOwn<Kind>(
  flag: string,
  text: string,
  read: (value: ReturnType<typeof readJson>) => Kind,
  publicKey: string,
): Promise<Kind> {
  try {
    const record = readJson(text, LIST_LIMITS)
    const own = read(record)
    if (await verifyList(record as JsonObject & { signatures: Signature[] }, [publicKey])) return own
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof FormError)) throw error
    throw new PublishedUnusable(`${flag}: cannot be read: ${error.message}`, { cause: error })
  }
  throw new PublishedUnusable(`${flag}: is not signed by this authority`)
}
