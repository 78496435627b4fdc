import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'
import { openCheckpointByAny } from './policy.ts'
import { type LogCheckpoint, type SignedNote, readCheckpointText, readNote } from './note.ts'
import { HASH_BYTES, sameBytes, verifyConsistency } from './tree.ts'

/** A log asks a witness to cosign a checkpoint (C2SP tlog-witness, add-checkpoint). */
export interface AddCheckpoint {
  /** The size that the witness cosigned last, as far as the log knows. */
  readonly oldSize: number
  /** Consistency proof from that size. */
  readonly proof: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

/** A tree of 2^63 leaves needs no more. */
const MAX_CONSISTENCY_HASHES = 63
/** Lines of signatures that a witness reads. Each one may cost a verification. */
const MAX_SIGNATURES = 32
/** Characters of a body that a witness reads: the proof, and a note with all its signatures. */
export const MAX_ADD_CHECKPOINT_LENGTH: number = 32 * 1024
const SIZE = /^(?:0|[1-9]\d{0,15})$/

export function writeAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  return `old ${oldSize}\n${proof.map((hash) => `${toBase64(hash)}\n`).join('')}\n${checkpoint}`
}

/** Undefined for a body that is none, or is too long. */
export function readAddCheckpoint(body: string): AddCheckpoint | undefined {
  const end = body.indexOf('\n\n')
  if (body.length > MAX_ADD_CHECKPOINT_LENGTH || end < 0) return undefined
  const [first = '', ...lines] = body.slice(0, end).split('\n')
  const size = first.startsWith('old ') ? first.slice('old '.length) : ''
  if (!SIZE.test(size) || lines.length > MAX_CONSISTENCY_HASHES) return undefined
  const proof = lines.flatMap((line) => fromBase64(line) ?? [])
  if (proof.length !== lines.length || proof.some((hash) => hash.length !== HASH_BYTES)) return undefined
  return { oldSize: Number(size), proof, checkpoint: body.slice(end + 2) }
}

/** What a witness says to a request. `conflict` names the size it has. */
export type WitnessVerdict =
  | { readonly kind: 'cosign'; readonly checkpoint: LogCheckpoint; readonly note: SignedNote }
  | { readonly kind: 'conflict'; readonly size: number; readonly isFork: boolean }
  | { readonly kind: 'malformed' | 'unknown_origin' | 'untrusted' | 'wrong_proof' }

/** What a witness knows of a log: the keys that it trusts, and the last checkpoint that it cosigned. */
export interface WitnessedLog {
  readonly keys: readonly string[]
  readonly last: LogCheckpoint | undefined
}

/**
 * Decides whether a witness may cosign. The signature is verified before anything else is compared. The caller must
 * store the checkpoint before it cosigns, in the same step that read `last`.
 */
export async function judgeCheckpoint(
  body: string,
  findLog: (origin: string) => WitnessedLog | undefined,
): Promise<WitnessVerdict> {
  const request = readAddCheckpoint(body)
  const note = request === undefined ? undefined : readNote(request.checkpoint)
  const claimed = note === undefined ? undefined : readCheckpointText(note.text)
  if (request === undefined || note === undefined || claimed === undefined) return { kind: 'malformed' }
  if (note.signatures.length > MAX_SIGNATURES) return { kind: 'malformed' }
  const log = findLog(claimed.origin)
  if (log === undefined) return { kind: 'unknown_origin' }
  const checkpoint = await openCheckpointByAny(request.checkpoint, claimed.origin, log.keys)
  if (checkpoint === undefined) return { kind: 'untrusted' }
  const { oldSize, proof } = request
  if (oldSize > checkpoint.size) return { kind: 'malformed' }
  const { size, root } = log.last ?? { size: 0, root: sha256(new Uint8Array()) }
  const isFork = size === checkpoint.size && !sameBytes(root, checkpoint.root)
  if (oldSize !== size || isFork) return { kind: 'conflict', size, isFork }
  const facts = { older: size, newer: checkpoint.size, olderRoot: root, newerRoot: checkpoint.root, proof }
  return verifyConsistency(facts) ? { kind: 'cosign', checkpoint, note } : { kind: 'wrong_proof' }
}
