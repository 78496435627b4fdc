import { canonicalJson, isOrdered, isPlainlySpelled } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { UNSURE } from '../canonical/plain-length.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/json-value.ts'
import { JsonError, readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/form-error.ts'
import { type EvidenceStoreEntry, readEvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { EVENT_SCHEMA, EVENT_SCHEMA_VERSION, eventLine } from './chain.ts'
import type { LineShortcuts } from './shortcuts.ts'

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
