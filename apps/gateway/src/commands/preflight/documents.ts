import { GATEWAY_POLICY_BYTES } from '@chancery/contract'
import { type Instant, JsonError, type JsonObject, isJsonObject, readJsonBytes } from '@chancery/protocol'
import { OutboundError, callUrl } from '@chancery/service-kit'

const PATHS = {
  crl: '/crl',
  feed: '/sovereign-revocation-feed',
  treaties: '/recognition-treaties',
  metadata: '/sovereign.json',
  history: '/key-history',
} as const

type Documents<Name extends string> = { readonly [Each in Name]: JsonObject | undefined }

/** The documents that an authority publishes, as far as they could be fetched. It has a history after a key succession. */
export interface PublishedDocuments extends Documents<'genesis' | keyof typeof PATHS> {
  /** Clock of the authority, from the first response. */
  readonly theirClock: Instant | undefined
  /** Paths of documents that are larger than `maxBytesOf` allows. */
  readonly tooLarge: readonly string[]
}

const CALL_MS = 10_000
const MAX_BYTES = 2 * 1024 * 1024
/** Values and names are bounded by the bytes: a list of 16 MiB has about 115,000 entries. */
const LIMITS = { maxDepth: 64, maxValues: 4_000_000, maxNames: 100_000 }
const LISTS: readonly string[] = [PATHS.crl, PATHS.feed]

/** A list goes into the policy file, so a larger one could not be used. */
export function maxBytesOf(path: string): number {
  return LISTS.includes(path) || path.startsWith('/crl/keys/') ? GATEWAY_POLICY_BYTES : MAX_BYTES
}

/**
 * Fetches the documents without credentials. A response that is not a JSON object counts as not published. A name may
 * resolve to a private address only with `allowPrivate`, as for the running gateway.
 */
export async function fetchPublished(origin: URL, allowPrivate: boolean): Promise<PublishedDocuments> {
  const get = (path: string): Promise<FetchResult> => fetchObject(new URL(path, origin), allowPrivate)
  const genesis = await get('/genesis')
  const found = await Promise.all(
    Object.entries(PATHS).map(async ([name, path]) => ({ name, path, ...(await get(path)) })),
  )
  const documents = Object.fromEntries(found.map(({ name, value }) => [name, value])) as Documents<keyof typeof PATHS>
  const tooLarge = found.filter((each) => each.isTooLarge === true).map(({ path }) => path)
  return { genesis: genesis.value, ...documents, theirClock: genesis.date, tooLarge }
}

/** Fetches the list of one key, current or former. */
export async function fetchKeyList(origin: URL, keyId: string, allowPrivate: boolean): Promise<JsonObject | undefined> {
  return (await fetchObject(new URL(`/crl/keys/${encodeURIComponent(keyId)}`, origin), allowPrivate)).value
}

interface FetchResult {
  readonly value: JsonObject | undefined
  readonly date: Instant | undefined
  readonly isTooLarge?: true
}

async function fetchObject(url: URL, allowPrivate: boolean): Promise<FetchResult> {
  try {
    const call = { url, timeoutMs: CALL_MS, maxBytes: maxBytesOf(url.pathname), allowPrivate, takesGzip: true }
    const { status, body, headers } = await callUrl({ ...call, headers: { accept: 'application/json' } })
    const value = status === 200 ? readJsonBytes(body, LIMITS) : undefined
    return { value: isJsonObject(value) ? value : undefined, date: readHttpDate(headers['date']) }
  } catch (error) {
    if (error instanceof OutboundError && error.kind === 'too_large')
      return { value: undefined, date: undefined, isTooLarge: true }
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
