import { REQUEST_ID_HEADER } from '@chancery/contract'
import { AnswerError, ChanceryError, UnreachableError } from './errors.ts'

/** The part of `fetch` used here; a test or another platform may bring its own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface TransportOptions {
  readonly fetch: Fetch
  /** For one attempt, from connecting to the last byte of the answer. */
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
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
}

export interface Incoming {
  readonly status: number
  readonly body: Uint8Array
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Wall time of the authority in milliseconds, when it says so. */
  readonly dateMs: number | undefined
}

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

/** One attempt: exactly one request, a bounded answer, no redirect followed, no cookie sent, nothing cached. */
export async function send(options: TransportOptions, outgoing: Outgoing): Promise<Incoming> {
  const timeout = AbortSignal.timeout(Math.ceil(Math.min(options.timeoutMs, outgoing.leftMs ?? Infinity)))
  const signal = outgoing.signal === undefined ? timeout : AbortSignal.any([timeout, outgoing.signal])
  try {
    const response = await options.fetch(outgoing.baseUrl + outgoing.target, {
      method: outgoing.method,
      headers: outgoing.headers,
      ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
      signal,
      // A redirect would carry a signed request to an address nobody chose.
      redirect: 'error',
      credentials: 'omit',
      cache: 'no-store',
    })
    const facts = readHead(response)
    return { ...facts, body: await readBounded(response, options.maxAnswerBytes, facts) }
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

/** Counted while reading: a length header may lie, and a coded answer grows. */
async function readBounded(response: Response, maxBytes: number, facts: Omit<Incoming, 'body'>): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > maxBytes) {
      await reader.cancel()
      throw new AnswerError({ ...facts, problem: `it is larger than ${maxBytes} bytes` })
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

/** `fetch` hides the system error one or two causes deep. */
function systemCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}
