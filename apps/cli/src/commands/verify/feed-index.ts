import { FormError, readFeedIndex, signerKeys, verifyList } from '@chancery/protocol'
import type { JsonObject, OfflineTrust } from '@chancery/protocol'
import type { VerifiedFile } from './evaluated.ts'

/** Texts for the index of a feed, in the form of those of other records. */
export const FEED_INDEX_WORDS = {
  name: 'index of a revocation feed',
  proves: 'The issuer signed the digests of the parts of its feed. Compare each part with its digest.',
}

export function isFeedIndex(value: JsonObject): boolean {
  return Object.hasOwn(value, 'index_id')
}

/** Signed, by a given key, and in the name of the network of the genesis block. */
export async function verifyFeedIndex(value: JsonObject, trust: OfflineTrust): Promise<VerifiedFile> {
  if (trust.genesis === undefined && trust.keys.length === 0) return { ok: false, reason: 'keys_needed' }
  try {
    const index = readFeedIndex(value)
    if (index.signatures.length === 0) return { ok: false, reason: 'missing_signature' }
    if (!(await verifyList(index, signerKeys(trust, index)))) return { ok: false, reason: 'invalid_signature' }
    if (trust.genesis === undefined) return { ok: true, checked: ['signature'], unproven: ['network', 'newest'] }
    if (trust.genesis.network_name !== index.issuer_sovereign_id) return { ok: false, reason: 'wrong_issuer' }
    return { ok: true, checked: ['signature', 'network'], unproven: ['newest'] }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return { ok: false, reason: 'malformed', problem: error.message }
  }
}
