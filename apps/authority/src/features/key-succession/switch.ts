import { genesisDigest, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import type { Tx } from '../../store/database.ts'
import { SuccessionRefused, succeedKey } from '../crl/index.ts'
import type { Succession } from '../crl/index.ts'
import { signCheckpointAgain } from '../evidence-log/index.ts'
import { signPolicyAgain } from '../policy/index.ts'
import { findOwnFeed, publishOwnFeed } from '../revocation-feeds/index.ts'
import { countFollowers, enterPhase } from './store.ts'

/**
 * Makes the database the new key's and signs everything that readers verify under the current key again, in one
 * transaction (decision 0022). Without `isForced` it waits until every node that was heard of holds the new block.
 * Undefined when it was made before: whoever ran the command may not have seen its end, and repeats it.
 */
export async function switchKey(
  office: Office,
  { isForced }: { readonly isForced: boolean },
): Promise<Succession | undefined> {
  if (await isMade(office)) return undefined
  if (!isForced) await requireFollowers(office)
  return succeedKey(office, async (tx) => {
    await signPolicyAgain(tx, office)
    faultPoint('switch-policy-stored')
    await signFeedAgain(tx, office)
    faultPoint('switch-feed-stored')
    await signCheckpointAgain(tx, office)
    faultPoint('switch-checkpoint-stored')
    await enterPhase(tx, 'switched', { switched_at: writeSortable(office.clock.now()) })
    faultPoint('switch-phase-stored')
  })
}

async function isMade({ store, genesis, signer }: Office): Promise<boolean> {
  const [held, stored] = [
    await store.db.selectFrom('authority_identity').select('public_key').executeTakeFirst(),
    await findSuccession(store.db),
  ]
  return held?.public_key === signer.publicKey && stored?.genesis_digest === genesisDigest(genesis)
}

async function requireFollowers(office: Office): Promise<void> {
  const { store, genesis } = office
  const stored = await findSuccession(store.db)
  if (stored?.genesis_digest !== genesisDigest(genesis))
    throw new SuccessionRefused('this block was not announced, so no node holds it: --step announce, or --yes')
  const { holding, nodes } = await countFollowers(store.db, stored.genesis_digest, office.clock.now())
  if (holding < nodes)
    throw new SuccessionRefused(`${holding} of ${nodes} nodes have the new block: wait for the others, or --yes`)
}

/** Under the next number: readers that hold the last one take it as a newer feed with the same ids. */
async function signFeedAgain(tx: Tx, office: Office): Promise<void> {
  await office.store.lockHead(tx, 'feed')
  if ((await findOwnFeed(tx)) !== undefined) await publishOwnFeed(tx, office, 'refresh')
}
