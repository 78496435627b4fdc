import { canonicalJson, isOrdered, isPlainlySpelled } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { UNSURE } from '../canonical/plain-length.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { JsonError, readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { readEvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import type { EntrySubject, EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import type { LineShortcuts } from './shortcuts.ts'
import { asJson } from '../signing/verify-any.ts'

const EVENT_SCHEMA = 'gm.evidence.event'
const EVENT_SCHEMA_VERSION = 1

/** Where the chain ends: the next entry names this digest. */
export interface StoreHead {
  readonly store_sequence: number
  readonly entry_digest: string | null
}

export const EMPTY_STORE: StoreHead = { store_sequence: 0, entry_digest: null }

/** One entry in its place, with the very line that is stored, exported and served. */
export interface ChainedEntry {
  readonly entry: EvidenceStoreEntry
  readonly entry_digest: string
  readonly line: string
}

/** An entry as chainEntry() makes it, with its own canonical text, which answers repeat. */
export interface LinkedEntry extends ChainedEntry {
  readonly entryText: string
}

/** Puts a record behind the head. `payload` is its canonical text, so that nothing is spelled twice. */
export function chainEntry(head: StoreHead, subject: EntrySubject, payload: string, recorded_at: string): LinkedEntry {
  // In the order of C, so that the platform's own writer can spell it.
  const entry: EvidenceStoreEntry = {
    attestation_id: subject.attestation_id,
    capability: subject.capability,
    context_id: subject.context_id,
    decision_id: subject.decision_id,
    entry_kind: subject.entry_kind,
    evidence_id: subject.evidence_id,
    exec_sequence_no: subject.exec_sequence_no,
    executor_sovereign_id: subject.executor_sovereign_id,
    outcome: subject.outcome,
    payload_digest: sha256Hex(payload),
    prev_entry_digest: head.entry_digest,
    recorded_at,
    resource_action: subject.resource_action,
    resource_id: subject.resource_id,
    resource_sequence: subject.resource_sequence,
    store_sequence: head.store_sequence + 1,
    vendor_id: subject.vendor_id,
  }
  const text = canonicalJson(asJson(entry))
  const entry_digest = sha256Hex(text)
  return { entry, entry_digest, line: eventLine(text, entry_digest, payload), entryText: text }
}

/**
 * C(event) from the canonical texts of its parts (protocol/trust-operations 6.7): the names stand in their order, so
 * the whole is canonical when its parts are.
 */
function eventLine(entry: string, entry_digest: string, payload: string): string {
  return `{"entry":${entry},"entry_digest":${canonicalJson(entry_digest)},"payload":${payload},"schema":"${EVENT_SCHEMA}","schema_version":${EVENT_SCHEMA_VERSION}}`
}

/** A parsed stored line, with both digests recomputed. */
export interface ReadEvent {
  readonly entry: EvidenceStoreEntry
  readonly payload: JsonValue
  readonly entryDigest: string
  readonly claimedDigest: JsonValue
  readonly payloadDigest: string
  /** The line is exactly C(event): no other spelling, order or member would show in the digests. */
  readonly canonical: boolean
  /** C(payload) as it is in the line; only of a canonical line that the platform's own writer would spell the same. */
  readonly plainPayload?: string
}

/**
 * Stored entries must stay readable, so that they can be verified, anchored and removed. A checkpoint names every
 * resource whose records were removed, and a proof repeats a disclosed fact for each gate, three levels deeper than
 * the request that brought it: so only the length of a line bounds its values. A deeper line has no canonical form.
 */
const LIMITS = { maxDepth: 67, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

/** Reads one line, or gives undefined when it is not an evidence event at all. */
export function readEventLine(line: string, shortcuts?: LineShortcuts): ReadEvent | undefined {
  const parts = readParts(line, shortcuts)
  if (parts === undefined) return undefined
  const { texts, ...said } = parts
  return { ...said, entryDigest: sha256Hex(texts.entry), payloadDigest: sha256Hex(texts.payload) }
}

/** Reads a line of the own store without computing a digest. */
export function readStoredLine(line: string): Pick<ReadEvent, 'entry' | 'payload'> | undefined {
  return readParts(line)
}

/** What a line says, and the texts its digests are taken over. */
interface EventParts extends Omit<ReadEvent, 'entryDigest' | 'payloadDigest'> {
  readonly texts: { readonly entry: string; readonly payload: string }
}

function readParts(line: string, shortcuts?: LineShortcuts): EventParts | undefined {
  return readCanonicalLine(line, shortcuts) ?? readAnyLine(line)
}

function readAnyLine(line: string): EventParts | undefined {
  const event = parse(line)
  if (event === undefined) return undefined
  const [entry, payload, claimed] = [member(event, 'entry'), member(event, 'payload'), member(event, 'entry_digest')]
  if (entry === undefined || payload === undefined || claimed === undefined) return undefined
  const envelope = readEnvelope(entry)
  if (envelope === undefined) return undefined
  const texts = { entry: canonicalJson(entry), payload: canonicalJson(payload) }
  return {
    entry: envelope,
    payload,
    texts,
    claimedDigest: claimed,
    canonical: typeof claimed === 'string' && line === eventLine(texts.entry, claimed, texts.payload),
  }
}

const HEAD = '{"entry":'
const DIGEST = ',"entry_digest":"'
const PAYLOAD = '","payload":'
const TAIL = `,"schema":"${EVENT_SCHEMA}","schema_version":${EVENT_SCHEMA_VERSION}}`
const MEMBERS = 5

/**
 * A line that is canonical, as nearly all are, read by the platform's own reader in a fraction of the time; undefined
 * sends it to the careful one. A text that the platform's writer gives back unchanged, with names in order, repeats no
 * name and spells nothing in a second way; its parts then stand in it as they were digested.
 */
function readCanonicalLine(line: string, shortcuts: LineShortcuts | undefined): EventParts | undefined {
  if (!line.startsWith(HEAD) || !line.endsWith(TAIL) || !isPlainlySpelled(line)) return undefined
  let event: JsonValue
  try {
    event = JSON.parse(line) as JsonValue
  } catch {
    return undefined
  }
  if (!isJsonObject(event) || !isTextOf(line, event, shortcuts)) return undefined
  // The last two members are in the tail, so no other member can be among five.
  const { entry, entry_digest: claimed, payload } = event
  if (entry === undefined || typeof claimed !== 'string' || Object.keys(event).length !== MEMBERS) return undefined
  const envelope = shortcuts?.asPlainEntry(entry) ?? readEnvelope(entry)
  // The envelope is closed, so the first member of that name is the event's own: a quote inside a text is escaped.
  const middle = line.indexOf(DIGEST, HEAD.length)
  const payloadAt = middle + DIGEST.length + claimed.length + PAYLOAD.length
  if (envelope === undefined || payload === undefined || line.slice(payloadAt - PAYLOAD.length, payloadAt) !== PAYLOAD)
    return undefined
  const plainPayload = line.slice(payloadAt, -TAIL.length)
  return {
    entry: envelope,
    payload,
    texts: { entry: line.slice(HEAD.length, middle), payload: plainPayload },
    claimedDigest: claimed,
    canonical: true,
    plainPayload,
  }
}

/** True when a plainly spelled line is C(event). Its length is enough where nothing in it is escaped. */
function isTextOf(line: string, event: JsonObject, shortcuts: LineShortcuts | undefined): boolean {
  const length = shortcuts === undefined || line.includes('\\') ? UNSURE : shortcuts.plainLength(event, 0)
  if (length !== UNSURE) return length === line.length
  // A member of that name must not become a prototype.
  return !line.includes('__proto__') && isOrdered(event, 0) && JSON.stringify(event) === line
}

function parse(line: string): JsonObject | undefined {
  try {
    const event = readJson(line, LIMITS)
    return isJsonObject(event) ? event : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function readEnvelope(entry: JsonValue): EvidenceStoreEntry | undefined {
  try {
    return readEvidenceStoreEntry(entry)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}
