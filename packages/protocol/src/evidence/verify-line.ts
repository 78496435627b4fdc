import { toUtf8 } from '../canonical/utf8.ts'
import { checkReceivedForm, signaturesOf } from '../signing/received.ts'
import { verifySignature } from '../signing/verify.ts'
import type { EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { checkPayload } from './check-payload.ts'
import type { CheckedPayload, Problem, SignedPart, StoreKeys } from './check-payload.ts'
import { readEventLine } from './read-event.ts'
import type { ReadEvent } from './read-event.ts'

/**
 * What one line says by itself, and all that is wrong with it by itself: what is left are its links to other entries.
 * Plain data, so it may be made anywhere, in any order, and be held against its neighbours later.
 */
export interface VerifiedLine extends Omit<CheckedPayload, 'signed'> {
  readonly entry: Pick<
    EvidenceStoreEntry,
    'store_sequence' | 'prev_entry_digest' | 'context_id' | 'vendor_id' | 'attestation_id' | 'capability'
  >
  /** The recomputed digest of the entry. */
  readonly digest: string
}

/** A line, and its signature still to be verified. */
export interface ParsedLine {
  readonly event: ReadEvent
  readonly examined: VerifiedLine
  readonly signed: SignedPart | undefined
}

/** Everything but the signature; undefined for a line that is no evidence event at all. */
export function openLine(line: string, keys: StoreKeys): ParsedLine | undefined {
  const event = readEventLine(line)
  if (event === undefined) return undefined
  const { signed, ...result } = checkPayload(event, keys)
  const { store_sequence, prev_entry_digest, context_id, vendor_id, attestation_id, capability } = event.entry
  const entry = { store_sequence, prev_entry_digest, context_id, vendor_id, attestation_id, capability }
  const problems = [...checkDigests(event), ...result.problems]
  return { event, examined: { ...result, problems, entry, digest: event.entryDigest }, signed }
}

/** Everything a line can be asked without its neighbours, signature included. */
export async function verifyLine(line: string, keys: StoreKeys): Promise<VerifiedLine | undefined> {
  const opened = openLine(line, keys)
  if (opened?.signed === undefined) return opened?.examined
  const problem = await checkSignature(opened.signed, opened.event.entry.entry_kind, 'here')
  const { examined } = opened
  return problem === undefined ? examined : { ...examined, problems: [...examined.problems, problem] }
}

/** One of the signatures verifies under one of the keys, and the record has no unknown members. */
export async function checkSignature(
  { received, text, keys }: SignedPart,
  detail: string,
  place: 'here' | 'aside',
): Promise<Problem | undefined> {
  if (!(await verifiesUnder(received, toUtf8(text), keys, place))) return { reason: 'invalid_signature', detail }
  const form = checkReceivedForm(received)
  if (form.ok) return undefined
  return { reason: form.reason === 'unknown_field' ? 'unknown_field' : 'payload_invalid', detail }
}

async function verifiesUnder(
  received: SignedPart['received'],
  message: Uint8Array,
  keys: readonly string[],
  place: 'here' | 'aside',
): Promise<boolean> {
  for (const { sig } of signaturesOf(received)) {
    for (const key of keys) if (await verifySignature(key, message, sig, undefined, place)) return true
  }
  return false
}

function checkDigests({ entry, canonical, claimedDigest, entryDigest, payloadDigest }: ReadEvent): Problem[] {
  const problems: Problem[] = []
  if (claimedDigest !== entryDigest) problems.push({ reason: 'entry_digest_mismatch', detail: 'entry_digest' })
  else if (!canonical) problems.push({ reason: 'entry_digest_mismatch', detail: 'line' })
  if (payloadDigest !== entry.payload_digest)
    problems.push({ reason: 'payload_digest_mismatch', detail: 'payload_digest' })
  return problems
}
