import {
  asReceived,
  cosignedAt,
  fromBase64,
  fromHex,
  hashLeaf,
  keysInPeriod,
  openCheckpoint,
  openCheckpointByAny,
  readNote,
  readWitnessKey,
  storeAnchorForm,
  trustLog,
  verifyInclusion,
  verifyReceived,
  writeNote,
} from '@chancery/protocol'
import type { AuthorityKeys, LogCheckpoint, LogTrust, NoteSignature, ReadEvent, SignedNote } from '@chancery/protocol'
import type { PackEntries } from './check-entries.ts'
import { type Finding, PASSED, failed, missing, worst } from './report.ts'
import type { EvidencePack, PackLog, PackProof } from './format.ts'

/** What the log proves: the finding, and the entries that are leaves of it. */
export interface LogFinding {
  readonly finding: Finding
  readonly included: ReadonlySet<ReadEvent>
}

/** The entries are leaves of the log that the authority signed. */
export async function checkInclusion(
  { log, entries }: EvidencePack,
  keys: AuthorityKeys,
  { events, decision }: PackEntries,
): Promise<LogFinding> {
  const included = new Set<ReadEvent>()
  const found = (finding: Finding): LogFinding => ({ finding, included })
  if (log === null) return found(missing('the pack has no proof of the public log'))
  const trust = await trustPackLog(log, keys)
  if (trust === undefined) return found(failed('log_identity_invalid'))
  const checkpoint = await openCheckpointByAny(log.checkpoint, trust.origin, trust.keys)
  if (checkpoint === undefined) return found(failed('checkpoint_invalid_signature'))
  if (log.proofs.length !== entries.length) return found(failed('proof_without_entry'))
  const findings: Finding[] = []
  for (const [at, event] of events.entries()) {
    if (event === undefined) findings.push(missing('an entry cannot be read'))
    else {
      const finding = checkProof(checkpoint, event, log.proofs[at] ?? null, event === decision?.event)
      if (finding === PASSED) included.add(event)
      findings.push(finding)
    }
  }
  if (decision === undefined) findings.push(missing('the decision cannot be read'))
  return found(worst(findings))
}

/** The log of the pack: with its identity, or as it follows from the genesis block. */
function trustPackLog(log: PackLog, keys: AuthorityKeys): Promise<LogTrust | undefined> {
  return trustLog(keys, log.identity, (date) => keysInPeriod(keys, date))
}

function checkProof(
  checkpoint: LogCheckpoint,
  { entry, entryDigest }: ReadEvent,
  proof: PackProof | null,
  isDecision: boolean,
): Finding {
  if (proof === null) {
    // The log has this place. Without the proof, another entry may be there.
    if (entry.store_sequence <= checkpoint.size) return failed('proof_missing')
    return missing(
      isDecision ? 'the checkpoint does not cover the decision' : 'the checkpoint does not cover every later entry',
    )
  }
  if (proof.leaf_index !== entry.store_sequence - 1) return failed('leaf_index_mismatch')
  return isIncluded(checkpoint, proof.leaf_index, entryDigest, proof.hashes) ? PASSED : failed('not_in_log')
}

/**
 * Every signature of the checkpoint is of the authority, or of a witness that the pack names; each witness cosigned. With
 * trusted witnesses, all are among them, and there is at least one.
 */
export async function checkWitnesses(
  { log, witnesses }: EvidencePack,
  keys: AuthorityKeys,
  pinned: readonly string[] | undefined,
): Promise<Finding> {
  if (log === null && witnesses.length > 0) return failed('witness_not_used')
  if (pinned !== undefined && witnesses.length === 0) return failed('no_trusted_witness')
  if (log === null) return missing('the pack has no checkpoint')
  const note = readNote(log.checkpoint)
  if (note === undefined || writeNote(note) !== log.checkpoint) return failed('checkpoint_malformed')
  if (new Set(note.signatures.map(signatureName)).size !== note.signatures.length) return failed('signature_doubled')
  if (new Set(witnesses).size !== witnesses.length) return failed('witness_doubled')
  const trust = await trustPackLog(log, keys)
  if (trust === undefined) return failed('log_identity_invalid')
  let left = note.signatures
  for (const key of trust.keys) left = await withoutAuthority(note, left, trust.origin, key)
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
  origin: string,
  key: string,
): Promise<readonly NoteSignature[]> {
  const left: NoteSignature[] = []
  for (const each of signatures) {
    // Each attempt verifies a signature, so those under another name are not tried.
    const alone = each.name === origin ? writeNote({ ...note, signatures: [each] }) : undefined
    if (alone === undefined || (await openCheckpoint(alone, origin, key)) === undefined) left.push(each)
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
  const verdict = await verifyReceived(asReceived(storeAnchorForm, anchor), keysInPeriod(keys, anchor.anchored_at))
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
  const trust = await trustPackLog(log, keys)
  const checkpoint =
    trust === undefined ? undefined : await openCheckpointByAny(log.checkpoint, trust.origin, trust.keys)
  if (checkpoint === undefined) return missing('the checkpoint cannot be verified')
  const index = anchor.store_sequence - 1
  return isIncluded(checkpoint, index, anchor.entry_digest, hashes) ? PASSED : failed('anchor_not_in_log')
}

function isIncluded({ size, root }: LogCheckpoint, index: number, digest: string, hashes: readonly string[]): boolean {
  const leaf = fromHex(digest)
  const proof = hashes.map((hash) => fromBase64(hash))
  if (leaf?.length !== 32 || proof.some((hash) => hash?.length !== 32)) return false
  const bytes = proof.flatMap((hash) => hash ?? [])
  return verifyInclusion({ index, size, leafHash: hashLeaf(leaf), root, proof: bytes })
}
