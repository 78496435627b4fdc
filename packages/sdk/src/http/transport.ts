import { REQUEST_ID_HEADER } from '@chancery/contract'
import { ByteBlocks } from '@chancery/protocol'
import { ChanceryError, ResponseError, UnreachableError } from '../errors.ts'

/** The fields of a request that some runtimes refuse: workerd has no cookies, and knows no redirect mode `error`. */
const PROBED = { redirect: 'error', credentials: 'omit', cache: 'no-store' } as const
type Probed = keyof typeof PROBED

const supported = new Map<Probed, boolean>()

function supports(field: Probed): boolean {
  const known = supported.get(field)
  if (known !== undefined) return known
  let isSupported = true
  try {
    void new Request('http://localhost', { [field]: PROBED[field] })
  } catch {
    isSupported = false
  }
  supported.set(field, isSupported)
  return isSupported
}

/**
 * Sends a request that follows no redirect, with the fields that this runtime has. Where the runtime cannot refuse a
 * redirect itself, the redirect is not followed and its response is refused here.
 */
export async function fetchWithoutRedirect(
  fetch: (url: string, init: RequestInit) => Promise<Response>,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const { credentials, cache, ...rest } = init
  const response = await fetch(url, {
    ...rest,
    redirect: supports('redirect') ? 'error' : 'manual',
    ...(credentials !== undefined && supports('credentials') ? { credentials } : {}),
    ...(cache !== undefined && supports('cache') ? { cache } : {}),
  })
  const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.headers.has('Location'))
  if (!isRedirect || supports('redirect')) return response
  await response.body?.cancel()
  throw new TypeError('unexpected redirect')
}

/** The part of `fetch` used here; a test or another platform may bring its own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface TransportOptions {
  readonly fetch: Fetch
  /** For one attempt, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly maxResponseBytes: number
}

export interface Outgoing {
  /** As {@link readBaseUrl} gives it. */
  readonly baseUrl: string
  readonly method: string
  /** Path and query, encoded. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  readonly signal?: AbortSignal | undefined
  /** What is left for the whole call, when that is less than one attempt may take. */
  readonly leftMs?: number
  /**
   * Compressed answers are asked for. Only for requests that may be sent twice as they are, unless `once`: then an
   * answer without its length is refused.
   */
  readonly takesGzip?: boolean | 'once'
}

export interface Incoming {
  readonly status: number
  /** In separate memory, so that the reader may transfer it. */
  readonly body: Uint8Array<ArrayBuffer>
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Wall time of the authority in milliseconds, when it says so. */
  readonly dateMs: number | undefined
}

const CODING_HEADER = 'Accept-Encoding'

// The connection was never made, so nothing was carried out.
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * One attempt: one request (see `takesGzip` for the exception), a bounded answer, no redirect followed, no cookie sent,
 * nothing cached.
 */
export async function send(options: TransportOptions, outgoing: Outgoing): Promise<Incoming> {
  const timeout = AbortSignal.timeout(Math.ceil(Math.min(options.timeoutMs, outgoing.leftMs ?? Infinity)))
  const signal = outgoing.signal === undefined ? timeout : AbortSignal.any([timeout, outgoing.signal])
  const ask = (coding: string): Promise<Response> =>
    // A redirect would send a signed request to an address that the caller did not choose.
    fetchWithoutRedirect(options.fetch, outgoing.baseUrl + outgoing.target, {
      method: outgoing.method,
      headers: { ...outgoing.headers, [CODING_HEADER]: coding },
      ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
      signal,
      credentials: 'omit',
      cache: 'no-store',
    })
  try {
    let response = await ask((outgoing.takesGzip ?? false) === false ? 'identity' : 'gzip')
    if (outgoing.takesGzip === true && isCodedWithoutLength(response)) {
      // A proxy compresses while it sends. A read without a signature can be asked for again.
      await response.body?.cancel()
      response = await ask('identity')
    }
    const facts = readHead(response)
    return { ...facts, body: await readBounded(response, options.maxResponseBytes, facts) }
  } catch (error) {
    if (error instanceof ChanceryError) throw error
    if (outgoing.signal?.aborted === true) throw outgoing.signal.reason
    const systemCode = timeout.aborted ? 'TIMEOUT' : systemCodeOf(error)
    const sent = systemCode !== undefined && NEVER_SENT.has(systemCode) ? 'never' : 'perhaps'
    throw new UnreachableError({ url: outgoing.baseUrl, sent, systemCode })
  }
}

function readHead(response: Response): Omit<Incoming, 'body'> {
  const retryAfter = response.headers.get('Retry-After') ?? ''
  const dateMs = Date.parse(response.headers.get('Date') ?? '')
  return {
    status: response.status,
    requestId: response.headers.get(REQUEST_ID_HEADER) ?? undefined,
    retryAfterSeconds: /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
    dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
  }
}

/**
 * `fetch` decodes an answer and says nothing of the bytes that came in. Compressed bytes can decode to none, without
 * end, so their count has to come from the length, beyond which the platform reads nothing. Browsers choose the coding
 * themselves and decode in their own process.
 */
function isCodedWithoutLength({ headers }: Response): boolean {
  const coding = headers.get('Content-Encoding') ?? 'identity'
  return coding.toLowerCase() !== 'identity' && !headers.has('Content-Length') && mayChooseCoding()
}

function mayChooseCoding(): boolean {
  return new Request('http://localhost', { headers: { [CODING_HEADER]: 'identity' } }).headers.has(CODING_HEADER)
}

/** Counted while reading: a coded answer grows. */
async function readBounded(
  response: Response,
  maxBytes: number,
  facts: Omit<Incoming, 'body'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const isTooLong = Number(response.headers.get('Content-Length') ?? 0) > maxBytes
  if (isTooLong || isCodedWithoutLength(response)) {
    await response.body?.cancel()
    const problem = isTooLong ? `it is larger than ${maxBytes} bytes` : 'it is compressed and its length is not given'
    throw new ResponseError({ ...facts, problem })
  }
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const blocks = new ByteBlocks()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (blocks.size + value.length > maxBytes) {
      await reader.cancel()
      throw new ResponseError({ ...facts, problem: `it is larger than ${maxBytes} bytes` })
    }
    blocks.add(value)
  }
  return blocks.join()
}

/** `fetch` hides the system error one or two causes deep. */
function systemCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}
