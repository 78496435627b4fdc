import {
  consistencyProof,
  cosignedAt,
  fromUtf8,
  nodesFromTiles,
  openCheckpointByAny,
  readNote,
  sha256Hex,
  toUtf8,
  writeAddCheckpoint,
} from '@chancery/protocol'
import type { NodeReader, NoteSignature, SignedNote } from '@chancery/protocol'
import { OutboundError, addressKind, callUrl, isCallable } from '@chancery/service-kit'
import type { LogWitness } from '../../../settings/log-settings.ts'
import { statedOrigin } from '../continuity.ts'
import { type LogState, findTile } from '../queries.ts'
import type { EvidenceLogParts } from '../identity.ts'

/** What a witness answered. */
export type Asked =
  | { readonly kind: 'cosigned'; readonly line: NoteSignature; readonly seconds: number }
  /** It has more entries than we, or others. `proof`: the checkpoint it holds, when we signed it. */
  | { readonly kind: 'alarm'; readonly alarm: WitnessAlarm; readonly size: number; readonly proof: string | null }
  | { readonly kind: 'failed'; readonly failure: string; readonly size?: number }

/** rolled_back: the witness has more entries. forked: it has others. */
export type WitnessAlarm = 'rolled_back' | 'forked'

const TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 32 * 1024
/** The first call may learn the size of the witness; another instance may have asked before the second. */
const MAX_CALLS = 3
/** A cosignature from the future would show a later time than the one at which the log was seen. */
const MAX_AHEAD_SECONDS = 300
const SIZE = /^(0|[1-9]\d{0,15})\n?$/

export interface Question {
  readonly witness: LogWitness
  readonly state: LogState
  /** The size that the witness had last. */
  readonly knownSize: number
}

type Answer = { readonly status: number; readonly text: string } | { readonly failure: string }

/** Asks a witness to cosign a checkpoint of this log. Never throws for a failure of the witness. */
export async function askWitness(
  parts: EvidenceLogParts,
  { witness, state, knownSize }: Question,
  signal: AbortSignal,
): Promise<Asked> {
  const note = readNote(state.note)
  if (note === undefined) return { kind: 'failed', failure: 'no_checkpoint' }
  const tree = treeOf(parts, state.size)
  let oldSize = Math.min(knownSize, state.size)
  for (let calls = 0; calls < MAX_CALLS; calls += 1) {
    const proof = await consistencyProof(oldSize, state.size, tree)
    const body = writeAddCheckpoint({ oldSize, proof, checkpoint: state.note })
    const answer = await call(parts, witness, { path: 'add-checkpoint', body }, signal)
    if ('failure' in answer) return { kind: 'failed', failure: answer.failure }
    if (answer.status === 200) return readCosignature(parts, note, witness, answer.text)
    // The proof is from our own tiles, so the witness has other entries at this size.
    if (answer.status === 422) return alarm(parts, witness, { kind: 'forked', state, size: oldSize }, signal)
    if (answer.status !== 409) return { kind: 'failed', failure: `status_${answer.status}` }
    const size = Number(SIZE.exec(answer.text)?.[1] ?? Number.NaN)
    if (!Number.isSafeInteger(size)) return { kind: 'failed', failure: 'malformed' }
    if (size > state.size) return alarm(parts, witness, { kind: 'rolled_back', state, size }, signal)
    // It refuses the very size it names: the roots at this size differ.
    if (size === oldSize) {
      if (size === state.size) return alarm(parts, witness, { kind: 'forked', state, size }, signal)
      return { kind: 'failed', failure: 'malformed', size }
    }
    oldSize = size
  }
  return { kind: 'failed', failure: 'size_changes', size: oldSize }
}

async function readCosignature(
  parts: EvidenceLogParts,
  { text }: SignedNote,
  { name, publicKey }: LogWitness,
  lines: string,
): Promise<Asked> {
  const found = readNote(`${text}\n${lines}`)
  // A line of another key is ignored. Only the text of our own note counts.
  for (const line of found?.text === text ? found.signatures : []) {
    const seconds = line.name === name ? await cosignedAt({ text, signatures: [line] }, name, publicKey) : undefined
    if (seconds === undefined) continue
    const isAhead = seconds > Number(parts.clock.now() / 1_000_000n) + MAX_AHEAD_SECONDS
    return isAhead ? { kind: 'failed', failure: 'clock_ahead' } : { kind: 'cosigned', line, seconds }
  }
  return { kind: 'failed', failure: 'no_valid_cosignature' }
}

interface Claim {
  readonly kind: WitnessAlarm
  readonly state: LogState
  readonly size: number
}

/** Asks for the checkpoint that the witness holds. With our own signature on it the statement is a proof. */
async function alarm(
  parts: EvidenceLogParts,
  witness: LogWitness,
  { kind, state, size }: Claim,
  signal: AbortSignal,
): Promise<Asked> {
  const origin = statedOrigin(state.note)
  const answer = await call(parts, witness, { path: `${sha256Hex(toUtf8(origin))}/checkpoint` }, signal)
  const isAnswered = 'text' in answer && answer.status === 200
  const keys = [...parts.keys.all, ...parts.logSigners.map(({ publicKey }) => publicKey)]
  const isOurs = isAnswered && (await openCheckpointByAny(answer.text, origin, keys)) !== undefined
  return { kind: 'alarm', alarm: kind, size, proof: isOurs ? answer.text : null }
}

/** One call under the rules for addresses of the settings: no redirects, no metadata services, plain http not to the public. */
async function call(
  parts: EvidenceLogParts,
  witness: LogWitness,
  { path, body }: { readonly path: string; readonly body?: string },
  signal: AbortSignal,
): Promise<Answer> {
  const url = new URL(`${witness.url}/${path}`)
  const isPlain = url.protocol === 'http:'
  try {
    const response = await callUrl({
      url,
      ...(body === undefined ? {} : { method: 'POST' as const, body, headers: { 'content-type': 'text/plain' } }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_RESPONSE_BYTES,
      extraRoots: parts.settings.extraRoots,
      isAllowed: (address) => isCallable(address, true) && !(isPlain && addressKind(address) === 'public'),
      signal,
    })
    const text = fromUtf8(response.body)
    return text === undefined ? { failure: 'malformed' } : { status: response.status, text }
  } catch (error) {
    if (error instanceof OutboundError) return { failure: error.kind }
    throw error
  }
}

function treeOf(parts: EvidenceLogParts, size: number): NodeReader {
  return nodesFromTiles(size, async ({ level, tile }) => {
    const hashes = await findTile(parts.database.read, level, tile)
    if (hashes === undefined) throw new Error('a tile of the log is missing')
    return hashes
  })
}
