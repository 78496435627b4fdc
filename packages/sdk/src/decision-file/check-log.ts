import {
  allAuthorityKeys,
  asReceived,
  fromBase64,
  fromHex,
  hashLeaf,
  logOrigin,
  openCheckpoint,
  signersOf,
  storeAnchorForm,
  verifyInclusion,
  verifyReceived,
} from '@chancery/protocol'
import type { AuthorityKeys, LogCheckpoint, ReadEvent } from '@chancery/protocol'
import { PASSED, failed } from './finding.ts'
import type { Finding } from './finding.ts'
import type { DecisionFile } from './format.ts'

/** The entry of the decision is a leaf of the log that the authority signed. */
export async function checkInclusion(
  { log }: DecisionFile,
  keys: AuthorityKeys,
  decision: ReadEvent | undefined,
): Promise<Finding> {
  if (log === null) return { missing: 'the file has no proof of the public log' }
  const checkpoint = await openLog(log.checkpoint, keys)
  if (checkpoint === undefined) return failed('checkpoint_invalid_signature')
  if (decision === undefined) return { missing: 'the decision cannot be read' }
  const { store_sequence } = decision.entry
  if (log.leaf_index !== store_sequence - 1) return failed('leaf_index_mismatch')
  return isIncluded(checkpoint, log.leaf_index, decision.entryDigest, log.hashes) ? PASSED : failed('not_in_log')
}

/**
 * The authority signed the anchor, and the anchor covers the decision: it names an entry of the file, or a later entry
 * of the same log.
 */
export async function checkAnchor(
  { anchor, log }: DecisionFile,
  keys: AuthorityKeys,
  events: readonly (ReadEvent | undefined)[],
  decision: ReadEvent | undefined,
): Promise<Finding> {
  if (anchor === null) return { missing: 'the decision is not anchored' }
  const verdict = await verifyReceived(asReceived(storeAnchorForm, anchor), signersOf(keys, anchor))
  if (!verdict.ok) return failed(`anchor_${verdict.reason}`)
  if (anchor.sovereign_id !== keys.genesis.network_name) return failed('other_network')
  if (anchor.signature?.key_id !== anchor.issued_by) return failed('anchor_issuer_mismatch')
  if (decision === undefined) return { missing: 'the decision cannot be read' }
  if (anchor.store_sequence < decision.entry.store_sequence) return failed('anchor_before_decision')
  const named = events.find((event) => event?.entry.store_sequence === anchor.store_sequence)
  if (named !== undefined) return named.entryDigest === anchor.entry_digest ? PASSED : failed('anchor_mismatch')
  if (log === null || log.anchor_hashes === null)
    return { missing: 'the file has no proof for the entry that the anchor names' }
  const checkpoint = await openLog(log.checkpoint, keys)
  if (checkpoint === undefined) return { missing: 'the checkpoint cannot be verified' }
  const index = anchor.store_sequence - 1
  return isIncluded(checkpoint, index, anchor.entry_digest, log.anchor_hashes) ? PASSED : failed('anchor_not_in_log')
}

/** A checkpoint has no date, so a former key may have signed it. */
async function openLog(note: string, keys: AuthorityKeys): Promise<LogCheckpoint | undefined> {
  const origin = logOrigin(keys.genesis.network_name)
  for (const key of allAuthorityKeys(keys)) {
    const opened = await openCheckpoint(note, origin, key)
    if (opened !== undefined) return opened
  }
  return undefined
}

function isIncluded({ size, root }: LogCheckpoint, index: number, digest: string, hashes: readonly string[]): boolean {
  const leaf = fromHex(digest)
  const proof = hashes.map((hash) => fromBase64(hash))
  if (leaf?.length !== 32 || proof.some((hash) => hash?.length !== 32)) return false
  const bytes = proof.flatMap((hash) => hash ?? [])
  return verifyInclusion({ index, size, leafHash: hashLeaf(leaf), root, proof: bytes })
}
