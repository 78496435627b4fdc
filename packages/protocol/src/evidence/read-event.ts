import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { isJsonObject, member } from '../canonical/json-value.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { JsonError, readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/form-error.ts'
import { readEvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import type { EvidenceStoreEntry } from '../artifacts/evidence-store-entry.ts'
import { eventLine } from './chain.ts'

/** A stored line taken apart, with both digests computed anew. */
export interface ReadEvent {
  readonly entry: EvidenceStoreEntry
  readonly payload: JsonValue
  readonly entryDigest: string
  readonly claimedDigest: JsonValue
  readonly payloadDigest: string
  /** The line is exactly C(event): no other spelling, order or member would show in the digests. */
  readonly canonical: boolean
}

/**
 * What was stored must stay readable, or nobody could verify, anchor or remove it again. A checkpoint names every
 * resource whose records were removed, and a proof repeats a disclosed fact for each gate, three levels deeper than
 * the request that brought it: so only the length of a line bounds its values.
 */
const LIMITS = { maxDepth: 72, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }

/** Reads one line, or gives undefined when it is not an evidence event at all. */
export function readEventLine(line: string): ReadEvent | undefined {
  const event = parse(line)
  if (event === undefined) return undefined
  const [entry, payload, claimed] = [member(event, 'entry'), member(event, 'payload'), member(event, 'entry_digest')]
  if (entry === undefined || payload === undefined || claimed === undefined) return undefined
  const envelope = readEnvelope(entry)
  if (envelope === undefined) return undefined
  const [entryText, payloadText] = [canonicalJson(entry), canonicalJson(payload)]
  return {
    entry: envelope,
    payload,
    entryDigest: sha256Hex(entryText),
    claimedDigest: claimed,
    payloadDigest: sha256Hex(payloadText),
    canonical: typeof claimed === 'string' && line === eventLine(entryText, claimed, payloadText),
  }
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
