import { type LogCheckpoint, type Signer, openCheckpoint, signCheckpoint } from '@chancery/protocol'
import type { EvidenceLogParts } from './parts.ts'

/**
 * All signers of a checkpoint: the keys of the log, then the authority. The line of the authority stays, so that
 * readers who hold only the genesis block verify the log as before a log key was set.
 */
export function signersOf({
  logSigners,
  signing,
}: Pick<EvidenceLogParts, 'logSigners' | 'signing'>): readonly Signer[] {
  return [...logSigners, signing.signer]
}

/** Signs, and verifies each line before the note is used. */
export async function signNote(checkpoint: LogCheckpoint, parts: EvidenceLogParts): Promise<string> {
  const note = await signCheckpoint(checkpoint, ...signersOf(parts))
  if (!(await isSignedByAll(note, checkpoint.origin, parts)))
    throw new Error('the signing key produced a note that does not verify')
  return note
}

/** True when every current key signed the note under this name. */
export async function isSignedByAll(note: string, origin: string, parts: EvidenceLogParts): Promise<boolean> {
  for (const { publicKey } of signersOf(parts))
    if ((await openCheckpoint(note, origin, publicKey)) === undefined) return false
  return true
}
