import { genesisDigest, writeSortable } from '@chancery/protocol'
import type { KeySuccessionParts } from './parts.ts'
import { type FirstListKeys, KeySuccessionError } from '../crl/index.ts'
import { storeSuccession } from './queries.ts'

export interface Announcement {
  readonly keyId: string
  readonly digest: string
  /** False when the database already belongs to the announced key. Then only blocks change. */
  readonly needsSwitch: boolean
}

/**
 * Stores the block and the history of the root for followers, with the first list of the next key. It runs with the
 * settings of the next key. The signing key does not change. Repeating it renews the first list.
 */
export async function announceKey(parts: KeySuccessionParts): Promise<Announcement> {
  const { database, keys, network, signing } = parts
  const { historyText } = keys
  if (historyText === undefined)
    throw new KeySuccessionError('NA_KEY_HISTORY_FILE: is required: followers verify the new key with the history')
  const stored = await database.read.selectFrom('authority_identity').selectAll().executeTakeFirst()
  if (stored === undefined) throw new KeySuccessionError('the database is empty: there is no key to replace')
  if (stored.network_name !== network.name)
    throw new KeySuccessionError(`the database belongs to network ${stored.network_name}`)
  const isStored = stored.public_key === signing.publicKey
  const present = keys.former.find((key) => key.public_key === stored.public_key)
  if (!isStored && present === undefined)
    throw new KeySuccessionError(
      'the key history does not name the key the database belongs to: nodes would not follow',
    )
  const firstList = isStored ? null : await parts.crl.draftFirstList(firstListKeys(parts))
  const digest = genesisDigest(network.genesis)
  await database.write(async (tx) => {
    await storeSuccession(tx, {
      key_id: signing.keyId,
      genesis_digest: digest,
      genesis_json: network.genesisText,
      history_json: historyText,
      first_list_json: firstList,
      phase: isStored ? 'switched' : 'announced',
      announced_at: writeSortable(parts.clock.now()),
      switched_at: null,
      switch_stage: null,
      first_list_at: writeSortable(parts.clock.now()),
    })
    // The list of the announced key is served at its own address.
    await tx.raiseVersion('crl')
    await parts.audit.record(tx, {
      type: 'authority_key_announced',
      details: { new_key_id: signing.keyId, genesis_digest: digest },
    })
  })
  return { keyId: signing.keyId, digest, needsSwitch: !isStored }
}

/** Before the switch the next key signs as the current one of this command, and the present one is its former key. */
export function firstListKeys({ signing, keys }: Pick<KeySuccessionParts, 'signing' | 'keys'>): FirstListKeys {
  return { issuer: signing.signer, presentKeyId: keys.formerSigner?.keyId ?? '' }
}
