import { type SignerKeys, allAuthorityKeys, signersOf } from '../artifacts/followed-keys.ts'
import { type LogIdentity, logIdentityForm } from '../artifacts/log-identity.ts'
import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { type LogCheckpoint, checkpointText, logOrigin, readNote, writeNote } from '../evidence-log/note.ts'
import { openCheckpointByAny } from '../evidence-log/policy.ts'
import { TreeRange } from '../evidence-log/tree-range.ts'
import { sameBytes } from '../evidence-log/tree.ts'
import { asReceived, verifyReceived } from '../signing/received.ts'
import { type ArchiveManifest, type ArchiveSegment, readArchiveManifest, readHashes } from './manifest.ts'

/** The keys of the authority and its network, from a source that the reader of the archive trusts. */
export interface ArchiveTrust {
  readonly keys: SignerKeys
  readonly network: string
}

export type ManifestRefusal =
  | 'manifest_invalid'
  /** Not the manifest that follows the one before: removed, repeated, exchanged or changed. */
  | 'manifest_order'
  | 'other_network'
  /** The segments do not follow each other without a gap. */
  | 'segment_order'
  | 'checkpoint_invalid'
  /** The hashes of the segments do not give the root that the authority signed. */
  | 'tree_mismatch'

/**
 * The manifests of an archive, in their order. Each proves with a signed checkpoint of the log that its segments, and
 * those before, are the entries of the log from the first one on. The segments themselves are checked separately.
 */
export class ArchiveChain {
  readonly #trust: ArchiveTrust
  readonly #segments: ArchiveSegment[] = []
  #range = new TreeRange()
  #number = 0
  #previous: string | null = null
  #checkpoint: LogCheckpoint | undefined
  #boundary: RetentionCheckpoint | undefined

  constructor(trust: ArchiveTrust) {
    this.#trust = trust
  }

  /** The next manifest. Returns why it is none; then nothing is added. */
  async add(text: string): Promise<ManifestRefusal | undefined> {
    const manifest = readArchiveManifest(text)
    if (manifest === undefined) return 'manifest_invalid'
    if (manifest.number !== this.#number + 1 || manifest.previous !== this.#previous) return 'manifest_order'
    if (manifest.network !== this.#trust.network) return 'other_network'
    const range = this.#start(manifest)
    if (range === undefined) return 'segment_order'
    for (const { first, last, tree } of manifest.segments) {
      if (first !== range.end + 1 || last < first) return 'segment_order'
      if (!range.addRange(readHashes(tree), last)) return 'tree_mismatch'
    }
    const checkpoint = await openManifestCheckpoint(manifest, this.#trust)
    if (checkpoint === undefined) return 'checkpoint_invalid'
    if (checkpoint.size < (this.#checkpoint?.size ?? 0)) return 'manifest_order'
    const whole = range.copy()
    if (!whole.addRange(readHashes(manifest.after), checkpoint.size) || !sameBytes(whole.root(), checkpoint.root))
      return 'tree_mismatch'
    this.#segments.push(...manifest.segments)
    this.#range = range
    this.#number = manifest.number
    this.#previous = sha256Hex(text)
    this.#checkpoint = checkpoint
    this.#boundary ??= manifest.boundary ?? undefined
    return undefined
  }

  get segments(): readonly ArchiveSegment[] {
    return this.#segments
  }

  /** Number of manifests. */
  get number(): number {
    return this.#number
  }

  /** The digest of the last manifest. */
  get digest(): string | null {
    return this.#previous
  }

  /** The first entry; 1 unless entries were removed before the archive began. */
  get first(): number {
    return this.#segments[0]?.first ?? 1
  }

  /** The last entry; 0 for an archive without entries. */
  get last(): number {
    return this.#segments.at(-1)?.last ?? 0
  }

  /** The signed checkpoint of the last manifest. */
  get checkpoint(): LogCheckpoint | undefined {
    return this.#checkpoint
  }

  /** Of the entries that were removed before the archive began. */
  get boundary(): RetentionCheckpoint | undefined {
    return this.#boundary
  }

  /** The hashes of all entries so far, to go on from. */
  range(): TreeRange {
    return this.#range.copy()
  }

  /** Only an archive that begins after removed entries says what was before it. */
  #start({ boundary, before, segments }: ArchiveManifest): TreeRange | undefined {
    const first = segments[0]?.first ?? 0
    if (this.#number > 0) return boundary === null && before.length === 0 ? this.#range.copy() : undefined
    if ((boundary?.removed_through_sequence ?? 0) !== first - 1) return undefined
    // The label of a signature is not signed.
    if (boundary !== null && boundary.signature?.key_id !== boundary.issued_by) return undefined
    const range = new TreeRange()
    return range.addRange(readHashes(before), first - 1) ? range : undefined
  }
}

type SignedCheckpoint = Pick<ArchiveManifest, 'checkpoint' | 'log_identity'>

/** The checkpoint of a manifest: exactly one signature, of a key of the authority, and nothing that no check covers. */
async function openManifestCheckpoint(
  { checkpoint: text, log_identity }: SignedCheckpoint,
  trust: ArchiveTrust,
): Promise<LogCheckpoint | undefined> {
  const note = readNote(text)
  if (note?.signatures.length !== 1 || writeNote(note) !== text) return undefined
  const origin = await originOf(log_identity, trust)
  const opened = origin === undefined ? undefined : await openCheckpointByAny(text, origin, ownKeys(trust.keys))
  return opened !== undefined && checkpointText(opened) === note.text ? opened : undefined
}

/** An identity that is not needed would not be covered by a check. */
async function originOf(identity: LogIdentity | null, { keys, network }: ArchiveTrust): Promise<string | undefined> {
  if (identity === null) return logOrigin(network)
  if (identity.origin === logOrigin(network) || identity.sovereign_id !== network) return undefined
  if (identity.signature?.key_id !== identity.issued_by) return undefined
  const verdict = await verifyReceived(asReceived(logIdentityForm, identity), signersOf(keys, identity))
  return verdict.ok ? identity.origin : undefined
}

function ownKeys(keys: SignerKeys): readonly string[] {
  return 'genesis' in keys ? allAuthorityKeys(keys) : keys
}

/**
 * What a manifest has of a checkpoint of the authority: the note with one signature of its key, and the identity of
 * the log where its name needs one. Undefined when the authority did not sign it.
 */
export async function toManifestCheckpoint(
  text: string,
  identity: LogIdentity | null,
  trust: ArchiveTrust,
): Promise<(SignedCheckpoint & { readonly opened: LogCheckpoint }) | undefined> {
  const note = readNote(text)
  const log_identity = identity === null || identity.origin === logOrigin(trust.network) ? null : identity
  for (const signature of note?.signatures ?? []) {
    const signed = { checkpoint: writeNote({ text: note?.text ?? '', signatures: [signature] }), log_identity }
    const opened = await openManifestCheckpoint(signed, trust)
    if (opened !== undefined) return { ...signed, opened }
  }
  return undefined
}
