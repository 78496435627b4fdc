import { JsonError, isJsonObject, readJsonBytes } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { OutboundError, callUrl } from '@chancery/service-kit'

/** The documents that an authority publishes, as far as they could be fetched. */
export interface PublishedDocuments {
  readonly genesis: JsonObject | undefined
  readonly crl: JsonObject | undefined
  readonly feed: JsonObject | undefined
  readonly treaties: JsonObject | undefined
  readonly metadata: JsonObject | undefined
  /** Undefined before the first key succession. */
  readonly history: JsonObject | undefined
  /** Clock of the authority, from the first response. */
  readonly theirClock: Instant | undefined
}

const CALL_MS = 8000
const MAX_BYTES = 2 * 1024 * 1024
const LIMITS = { maxDepth: 64, maxValues: 500_000, maxNames: 100_000 }

/**
 * Fetches the documents without credentials. A response that is not a JSON object counts as not published. A name may
 * resolve to a private address only with `allowPrivate`, as for the running gateway.
 */
export async function fetchPublished(origin: URL, allowPrivate: boolean): Promise<PublishedDocuments> {
  const get = (path: string): Promise<FetchResult> => fetchObject(new URL(path, origin), allowPrivate)
  const genesis = await get('/genesis')
  const [crl, feed, treaties, metadata, history] = await Promise.all(
    ['/crl', '/sovereign-revocation-feed', '/recognition-treaties', '/sovereign.json', '/key-history'].map(get),
  )
  return {
    genesis: genesis.value,
    crl: crl?.value,
    feed: feed?.value,
    treaties: treaties?.value,
    metadata: metadata?.value,
    history: history?.value,
    theirClock: genesis.date,
  }
}

/** Fetches the list of one key, current or former. */
export async function fetchKeyList(origin: URL, keyId: string, allowPrivate: boolean): Promise<JsonObject | undefined> {
  return (await fetchObject(new URL(`/crl/keys/${encodeURIComponent(keyId)}`, origin), allowPrivate)).value
}

interface FetchResult {
  readonly value: JsonObject | undefined
  readonly date: Instant | undefined
}

async function fetchObject(url: URL, allowPrivate: boolean): Promise<FetchResult> {
  try {
    const call = { url, timeoutMs: CALL_MS, maxBytes: MAX_BYTES, allowPrivate }
    const { status, body, headers } = await callUrl({ ...call, headers: { accept: 'application/json' } })
    const value = status === 200 ? readJsonBytes(body, LIMITS) : undefined
    return { value: isJsonObject(value) ? value : undefined, date: readHttpDate(headers['date']) }
  } catch (error) {
    if (error instanceof OutboundError || error instanceof JsonError) return { value: undefined, date: undefined }
    throw error
  }
}

/** Reads RFC 9110 dates only. They have whole seconds. */
function readHttpDate(text: string | string[] | undefined): Instant | undefined {
  if (typeof text !== 'string' || !/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text))
    return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1000n
}
