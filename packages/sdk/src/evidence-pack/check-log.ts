import {
  allAuthorityKeys,
  asReceived,
  cosignedAt,
  fromBase64,
  fromHex,
  hashLeaf,
  logOrigin,
  openCheckpoint,
  readNote,
  readWitnessKey,
  signersOf,
  storeAnchorForm,
  verifyInclusion,
  verifyReceived,
  writeNote,
} from '@chancery/protocol'
import type { AuthorityKeys, LogCheckpoint, NoteSignature, SignedNote } from '@chancery/protocol'
import type { PackEntries } from './check-entries.ts'
import { PASSED, failed, missing } from './finding.ts'
import type { Finding } from './finding.ts'
import type { EvidencePack } from './format.ts'

/** The entries are leaves of the log that the authority signed. */
export async function checkInclusion(
  { log, entries }: EvidencePack,
  keys: AuthorityKeys,
  { events, decision }: PackEntries,
): Promise<Finding> {
  if (log === null) return missing('the pack has no proof of the public log')
  const checkpoint = await openLog(log.checkpoint, keys)
  if (checkpoint === undefined) return failed('checkpoint_invalid_signature')
  if (log.proofs.length !== entries.length) return failed('proof_without_entry')
  let isComplete = true
  for (const [at, event] of events.entries()) {
    const proof = log.proofs[at]
    if (event === undefined) return missing('an entry cannot be read')
    if (proof === undefined || proof === null) {
      if (event === decision?.event) return missing('the checkpoint does not cover the decision')
      isComplete = false
      continue
    }
    if (proof.leaf_index !== event.entry.store_sequence - 1) return failed('leaf_index_mismatch')
    if (!isIncluded(checkpoint, proof.leaf_index, event.entryDigest, proof.hashes)) return failed('not_in_log')
  }
  if (decision === undefined) return missing('the decision cannot be read')
  return isComplete ? PASSED : missing('the checkpoint does not cover every later entry')
}

/** Every signature of the checkpoint is of the authority, or of a witness that the pack names; each witness cosigned. */
export async function checkWitnesses(
  { log, witnesses }: EvidencePack,
  keys: AuthorityKeys,
  pinned: readonly string[] | undefined,
): Promise<Finding> {
  if (log === null) return witnesses.length === 0 ? missing('the pack has no checkpoint') : failed('witness_not_used')
  const note = readNote(log.checkpoint)
  if (note === undefined || writeNote(note) !== log.checkpoint) return failed('checkpoint_malformed')
  if (new Set(note.signatures.map(signatureName)).size !== note.signatures.length) return failed('signature_doubled')
  if (new Set(witnesses).size !== witnesses.length) return failed('witness_doubled')
  let left = note.signatures
  for (const key of allAuthorityKeys(keys)) left = await withoutAuthority(note, left, keys, key)
  for (const text of witnesses) {
    const witness = readWitnessKey(text)
    if (witness === undefined) return failed('witness_key_malformed')
    if (pinned !== undefined && !pinned.includes(text)) return failed(`witness_unknown: ${witness.name}`)
    const own = left.filter(({ name }) => name === witness.name)
    const [first] = own
    const seconds = await cosignedAt({ ...note, signatures: own }, witness.name, witness.publicKey)
    if (first === undefined || own.length > 1 || seconds === undefined)
      return failed(`witness_did_not_cosign: ${witness.name}`)
    left = left.filter((each) => each !== first)
  }
  if (left.length > 0) return failed(`signature_of_unknown_key: ${left[0]?.name ?? ''}`)
  return witnesses.length === 0 ? missing('no witness cosigned the checkpoint') : PASSED
}

function signatureName({ name, keyHash }: NoteSignature): string {
  return `${name} ${keyHash.join()}`
}

/** The signatures that are not a valid one of this key of the authority. */
async function withoutAuthority(
  note: SignedNote,
  signatures: readonly NoteSignature[],
  { genesis }: AuthorityKeys,
  key: string,
): Promise<readonly NoteSignature[]> {
  const left: NoteSignature[] = []
  for (const each of signatures) {
    const alone = writeNote({ ...note, signatures: [each] })
    if ((await openCheckpoint(alone, logOrigin(genesis.network_name), key)) === undefined) left.push(each)
  }
  return left
}

/**
 * The authority signed the anchor, and the anchor covers the decision: it names an entry of the pack, or a later entry
 * of the same log.
 */
export async function checkAnchor(
  { anchor, log }: EvidencePack,
  keys: AuthorityKeys,
  { events, decision }: PackEntries,
): Promise<Finding> {
  if (anchor === null)
    return (log?.anchor_hashes ?? null) === null
      ? missing('the decision is not anchored')
      : failed('anchor_proof_not_used')
  const verdict = await verifyReceived(asReceived(storeAnchorForm, anchor), signersOf(keys, anchor))
  if (!verdict.ok) return failed(`anchor_${verdict.reason}`)
  if (anchor.sovereign_id !== keys.genesis.network_name) return failed('other_network')
  if (anchor.signature?.key_id !== anchor.issued_by) return failed('anchor_issuer_mismatch')
  if (decision === undefined) return missing('the decision cannot be read')
  if (anchor.store_sequence < decision.event.entry.store_sequence) return failed('anchor_before_decision')
  const named = events.find((event) => event?.entry.store_sequence === anchor.store_sequence)
  const hashes = log?.anchor_hashes ?? null
  if (named !== undefined) {
    if (hashes !== null) return failed('anchor_proof_not_used')
    return named.entryDigest === anchor.entry_digest ? PASSED : failed('anchor_mismatch')
  }
  if (log === null || hashes === null) return failed('anchor_not_linked')
  const checkpoint = await openLog(log.checkpoint, keys)
  if (checkpoint === undefined) return missing('the checkpoint cannot be verified')
  const index = anchor.store_sequence - 1
  return isIncluded(checkpoint, index, anchor.entry_digest, hashes) ? PASSED : failed('anchor_not_in_log')
}

/** A checkpoint has no date, so a former key may have signed it. */
export async function openLog(note: string, keys: AuthorityKeys): Promise<LogCheckpoint | undefined> {
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
