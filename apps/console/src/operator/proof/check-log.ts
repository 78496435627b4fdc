import {
  asReceived,
  fromHex,
  hashLeaf,
  inclusionProof,
  openLog,
  sameBytes,
  signersOf,
  storeAnchorForm,
  toBase64,
  treeRoot,
  verifyInclusion,
  verifyReceived,
} from '@chancery/protocol'
import type { LogCheckpoint, ReadEvent } from '@chancery/protocol'
import { CallError } from '../client.ts'
import { plain } from '../../components/plain.ts'
import type { CheckLine, CheckName } from '../words/proofs.ts'
import { type ProofParts, logNodes } from './gather.ts'

/** The digest of the entry is a leaf of the log whose root the authority signed. */
export async function checkInclusion(
  { checkpoint, keys, logIdentity }: ProofParts,
  event: ReadEvent,
): Promise<CheckLine> {
  if ('missing' in checkpoint) return { name: 'inclusion', status: 'unchecked', detail: checkpoint.missing }
  const opened = await openLog(checkpoint.value, keys, logIdentity)
  if (opened === undefined)
    return { name: 'inclusion', status: 'failed', detail: 'The checkpoint is not signed by this authority.' }
  const { store_sequence } = event.entry
  if (store_sequence > opened.size)
    return { name: 'inclusion', status: 'waits', detail: `The log has ${opened.size} entries yet.` }
  return checkLeaf('inclusion', opened, store_sequence, plain(event.claimedDigest))
}

/** The first anchor at or after the decision names an entry of it, or a later entry of the same log. */
export async function checkAnchor(
  { anchor: found, checkpoint, keys, logIdentity }: ProofParts,
  events: readonly (ReadEvent | undefined)[],
  event: ReadEvent,
): Promise<CheckLine> {
  const name = 'anchor'
  if ('missing' in found) return { name, status: 'unchecked', detail: found.missing }
  const anchor = found.value
  if (anchor === undefined)
    return { name, status: 'waits', detail: `No anchor is at or after #${event.entry.store_sequence} yet.` }
  const verdict = await verifyReceived(asReceived(storeAnchorForm, anchor), signersOf(keys, anchor))
  const detail = `anchor ${anchor.anchor_sequence}, at #${anchor.store_sequence}`
  if (!verdict.ok) return { name, status: 'failed', detail: `${detail}: ${verdict.reason}` }
  const own = events.find((each) => each?.entry.store_sequence === anchor.store_sequence)
  if (own !== undefined) {
    const values = { expected: anchor.entry_digest, found: plain(own.claimedDigest) }
    return values.expected === values.found
      ? { name, status: 'passed', detail }
      : { name, status: 'failed', detail, values }
  }
  const opened = 'value' in checkpoint ? await openLog(checkpoint.value, keys, logIdentity) : undefined
  if (opened === undefined || anchor.store_sequence > opened.size)
    return { name, status: 'unchecked', detail: `${detail}. The public log does not contain that entry yet.` }
  const line = await checkLeaf(name, opened, anchor.store_sequence, anchor.entry_digest)
  return line.status === 'passed' ? { ...line, detail } : line
}

async function checkLeaf(name: CheckName, log: LogCheckpoint, sequence: number, digest: string): Promise<CheckLine> {
  const { size, root } = log
  const index = sequence - 1
  const read = logNodes(size)
  try {
    const leafHash = hashLeaf(fromHex(digest) ?? new Uint8Array())
    const leaf = await read(0, index)
    if (!sameBytes(leaf, leafHash))
      return {
        name,
        status: 'failed',
        detail: `leaf ${index} of the log`,
        values: { expected: toBase64(leaf), found: toBase64(leafHash) },
      }
    const proof = await inclusionProof(index, size, read)
    const detail = `${proof.length} hashes from tiles, checkpoint of size ${size}`
    if (verifyInclusion({ index, size, leafHash, root, proof })) return { name, status: 'passed', detail }
    const found = toBase64(await treeRoot(size, read))
    return { name, status: 'failed', detail: 'root of the log', values: { expected: toBase64(root), found } }
  } catch (error) {
    if (error instanceof CallError) return { name, status: 'unchecked', detail: `${error.message} (${error.code})` }
    if (error instanceof RangeError) return { name, status: 'failed', detail: 'A tile of the log is too short.' }
    throw error
  }
}
