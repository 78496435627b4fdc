import { genesisDigest, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { KeySuccessionParts } from './progress.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { KeySuccessionError, type Succession } from '../crl/index.ts'
import { findOwnFeed } from '../revocation-feeds/index.ts'
import { countFollowers, enterPhase } from './queries.ts'

/**
 * Transfers the database to the new key and signs again everything that readers verify with the current key, in one
 * transaction (decision 0006). Without `isForced` it requires that every active node has the new block. Undefined when
 * it was done before: an operator who did not see the end of the command may repeat it.
 */
export async function switchKey(
  parts: KeySuccessionParts,
  { isForced }: { readonly isForced: boolean },
  /** Checked in the transaction of the switch. */
  require: (db: Reader) => Promise<void> = () => Promise.resolve(),
): Promise<Succession | undefined> {
  if (await isMade(parts)) return undefined
  if (!isForced) await requireFollowers(parts)
  return parts.crl.runKeySuccession(async (tx) => {
    await require(tx.query)
    await parts.policy.signPolicyAgain(tx)
    faultPoint('switch-policy-stored')
    await signFeedAgain(tx, parts)
    faultPoint('switch-feed-stored')
    await parts.evidenceLog.signCheckpointAgain(tx)
    faultPoint('switch-checkpoint-stored')
    await enterPhase(tx, 'switched', { switched_at: writeSortable(parts.clock.now()) })
    faultPoint('switch-phase-stored')
  })
}

async function isMade({ database, network, signing }: KeySuccessionParts): Promise<boolean> {
  const [current, stored] = [
    await database.read.selectFrom('authority_identity').select('public_key').executeTakeFirst(),
    await findSuccession(database.read),
  ]
  return current?.public_key === signing.publicKey && stored?.genesis_digest === genesisDigest(network.genesis)
}

async function requireFollowers(parts: KeySuccessionParts): Promise<void> {
  const { database, network } = parts
  const stored = await findSuccession(database.read)
  if (stored?.genesis_digest !== genesisDigest(network.genesis))
    throw new KeySuccessionError('this block was not announced, so no node has it: --step announce, or --yes')
  const { holding, nodes } = await countFollowers(database.read, stored.genesis_digest, parts.clock.now())
  if (holding < nodes)
    throw new KeySuccessionError(`${holding} of ${nodes} nodes have the new block: wait for the others, or --yes`)
}

/** With the next sequence: readers that have the last feed accept it as a newer feed with the same ids. */
async function signFeedAgain(tx: Transaction, parts: KeySuccessionParts): Promise<void> {
  await tx.lock('feed')
  if ((await findOwnFeed(tx.query)) !== undefined) await parts.revocationFeeds.publishOwnFeed(tx, 'refresh')
}
