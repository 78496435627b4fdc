import { fromBase64 } from '../canonical/base64.ts'
import { putUtf8, toUtf8 } from '../canonical/utf8.ts'
import { readPublicKey, verifySignature, verifySignatureBytes } from '../signing/keys.ts'
import { checkReceivedForm, signaturesOf } from '../signing/received.ts'
import { type BudgetEvent, readBudgetEvent } from '../budgets/budget-events.ts'
import type { EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { checkPayload } from './check-payload.ts'
import type { CheckedPayload, Problem, SignedPart, StoreKeys } from './checked-payload.ts'
import { type ReadEvent, readEventLine } from './read-event.ts'
import { type LineShortcuts, lineShortcuts } from './shortcuts.ts'

/**
 * What one line says by itself, and all that is wrong with it by itself: what is left are its links to other entries.
 * Plain data, so it may be made anywhere, in any order, and be held against its neighbours later.
 */
export interface VerifiedLine extends Omit<CheckedPayload, 'signed'> {
  readonly entry: Pick<
    EvidenceStoreEntry,
    | 'store_sequence'
    | 'prev_entry_digest'
    | 'recorded_at'
    | 'context_id'
    | 'vendor_id'
    | 'attestation_id'
    | 'capability'
  >
  /** What it says about budgets. */
  readonly budget?: BudgetEvent
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
export function openLine(line: string, keys: StoreKeys, shortcuts?: LineShortcuts): ParsedLine | undefined {
  const event = readEventLine(line, shortcuts)
  if (event === undefined) return undefined
  const { signed, ...result } = checkPayload(event, keys, shortcuts)
  const { store_sequence, prev_entry_digest, recorded_at, ...named } = event.entry
  const { context_id, vendor_id, attestation_id, capability } = named
  const entry = { store_sequence, prev_entry_digest, recorded_at, context_id, vendor_id, attestation_id, capability }
  const budget = readBudgetEvent(named.entry_kind, event.payload)
  const problems = [...checkDigests(event), ...result.problems]
  const examined = {
    ...result,
    problems,
    entry,
    digest: event.entryDigest,
    ...(budget === undefined ? {} : { budget }),
  }
  return { event, examined, signed }
}

/** Everything a line can be asked without its neighbours, signature included. */
export async function verifyLine(line: string, keys: StoreKeys): Promise<VerifiedLine | undefined> {
  const opened = openLine(line, keys, lineShortcuts)
  if (opened?.signed === undefined) return opened?.examined
  const verdict = verifiesHere(opened.signed)
  const isValid = typeof verdict === 'boolean' ? verdict : await verdict
  const problem = checkForm(opened.signed, opened.event.entry.entry_kind, isValid)
  const { examined } = opened
  return problem === undefined ? examined : { ...examined, problems: [...examined.problems, problem] }
}

/** One of the signatures verifies under one of the keys, and the record has no unknown members. */
export async function checkSignature(signed: SignedPart, detail: string): Promise<Problem | undefined> {
  return checkForm(signed, detail, await verifiesUnder(signed, toUtf8(signed.text), 'aside'))
}

function checkForm({ received }: SignedPart, detail: string, isValid: boolean): Problem | undefined {
  if (!isValid) return { reason: 'invalid_signature', detail }
  const form = checkReceivedForm(received)
  if (form.ok) return undefined
  return { reason: form.reason === 'unknown_field' ? 'unknown_field' : 'payload_invalid', detail }
}

async function verifiesUnder(
  { received, keys }: SignedPart,
  message: Uint8Array,
  place: 'here' | 'aside',
): Promise<boolean> {
  for (const { sig } of signaturesOf(received)) {
    for (const key of keys) if (await verifySignature(key, message, sig, undefined, place)) return true
  }
  return false
}

/** At once where one signature and one key decide, as in nearly every record. */
function verifiesHere(signed: SignedPart): boolean | Promise<boolean> {
  const [signature, ...others] = signaturesOf(signed.received)
  const [key, ...otherKeys] = signed.keys
  if (signature === undefined || key === undefined) return false
  const message = messageBytes(signed.text)
  if (others.length + otherKeys.length > 0) return verifiesUnder(signed, message, 'here')
  const keyBytes = readPublicKey(key)
  const bytes = signature.sig.length === 88 ? fromBase64(signature.sig) : undefined
  return keyBytes !== undefined && bytes !== undefined && verifySignatureBytes(keyBytes, message, bytes)
}

const SLAB_BYTES = 65_536
/** UTF-8 needs at most three bytes for a unit. */
const UNIT_BYTES = 3
let slab = new Uint8Array(SLAB_BYTES)
let used = 0

/** The bytes of a text, many in one block: memory for each message alone would cost more than to write it. */
function messageBytes(text: string): Uint8Array {
  const most = text.length * UNIT_BYTES
  if (most > SLAB_BYTES / 2) return toUtf8(text)
  // A new block, never an old one again: a verification may still read from it.
  if (used + most > SLAB_BYTES) [slab, used] = [new Uint8Array(SLAB_BYTES), 0]
  const bytes = slab.subarray(used, used + putUtf8(text, slab.subarray(used)))
  used += bytes.length
  return bytes
}

function checkDigests({ entry, canonical, claimedDigest, entryDigest, payloadDigest }: ReadEvent): Problem[] {
  const problems: Problem[] = []
  if (claimedDigest !== entryDigest) problems.push({ reason: 'entry_digest_mismatch', detail: 'entry_digest' })
  else if (!canonical) problems.push({ reason: 'entry_digest_mismatch', detail: 'line' })
  if (payloadDigest !== entry.payload_digest)
    problems.push({ reason: 'payload_digest_mismatch', detail: 'payload_digest' })
  return problems
}
