import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { type SecureContext, createSecureContext, getCACertificates } from 'node:tls'
import { ByteBlocks, joinBytes } from '@chancery/protocol'
import { traced } from '../tracing/spans.ts'
import { guardedLookup, isCallable, isRefusedLiteral } from './address-rules.ts'
import { type Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** Size of one decoded piece. The limit is checked after each. */
const DECODED_BYTES = 65_536
/** How many compressed bytes may be read before their decoded bytes. Gzip adds less; the rest is in buffers. */
const AHEAD_BYTES = 1_048_576

/** The body is larger than the limit. */
class OversizeError extends Error {
  override readonly name = 'OversizeError'
}

/**
 * Reads the body of a response in blocks. Bytes are counted while reading, before and after decoding: a length header
 * may be wrong, a few bytes can decode to many, and many to none, which costs processor time. The blocks are not joined
 * here, because that would block the event loop.
 */
async function readBlocks(
  response: IncomingMessage,
  { maxBytes, takesGzip = false }: { readonly maxBytes: number; readonly takesGzip?: boolean },
): Promise<Uint8Array<ArrayBuffer>[]> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) {
    response.destroy()
    throw new OversizeError()
  }
  const isCoded = takesGzip && response.headers['content-encoding']?.toLowerCase() === 'gzip'
  const blocks = new ByteBlocks()
  async function* counted(coded: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0
    for await (const chunk of coded) {
      size += chunk.length
      if (size > Math.min(maxBytes, blocks.size + AHEAD_BYTES)) throw new OversizeError()
      yield chunk
    }
  }
  const source: Readable = isCoded
    ? // Errors of each part reach the reader of the last part.
      pipeline(response, counted, createGunzip({ chunkSize: DECODED_BYTES }), () => undefined)
    : response
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (blocks.size + chunk.length > maxBytes) {
      response.destroy()
      throw new OversizeError()
    }
    blocks.add(chunk)
  }
  return blocks.take()
}

export interface OutboundCall {
  readonly url: URL
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole call. */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Root certificates in addition to those of the system, as PEM. */
  readonly extraRoots?: readonly string[]
  /** Names may resolve to private addresses. Literal addresses of the operator always may. */
  readonly allowPrivate?: boolean
  /** In place of `allowPrivate`: which addresses may be called, literal ones included. A name with another address is refused. */
  readonly isAllowed?: (address: string) => boolean
  /** For the connection alone, TLS included. */
  readonly connectMs?: number
  readonly signal?: AbortSignal
  /** Requests gzip and decodes it. The decoded size counts against `maxBytes`. */
  readonly takesGzip?: boolean
}

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface OutboundResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: Uint8Array
}

/** The body in blocks that move to another thread without a copy, and are joined there. */
export interface BlocksResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly blocks: Uint8Array<ArrayBuffer>[]
}

interface FailureFacts {
  readonly wasSent?: boolean
  readonly response?: Pick<OutboundResponse, 'status' | 'headers'> | undefined
}

/** The call failed: no connection, no response in time, or a response that is too large. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly kind: 'unreachable' | 'timeout' | 'too_large'
  /** Part of the request may have been sent. Its effect is unknown. */
  readonly wasSent: boolean
  /** Status and headers of a response that could not be read to its end. */
  readonly response: Pick<OutboundResponse, 'status' | 'headers'> | undefined

  constructor(kind: OutboundError['kind'], options?: ErrorOptions & FailureFacts) {
    super(kind, options)
    this.kind = kind
    this.wasSent = options?.wasSent === true
    this.response = options?.response
  }
}

class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError'
}

/**
 * Calls one configured address: no redirects, no proxies of the environment, no cookies, TLS verified, time and size
 * limited while reading.
 */
export async function callUrl(call: OutboundCall): Promise<OutboundResponse> {
  const { status, headers, blocks } = await callForBlocks(call)
  return { status, headers, body: joinBytes(blocks) }
}

export function callForBlocks(call: OutboundCall): Promise<BlocksResponse> {
  const about = { 'http.request.method': call.method ?? 'GET', 'server.address': call.url.host }
  return traced('call', about, () => callOnce(call))
}

async function callOnce(call: OutboundCall): Promise<BlocksResponse> {
  const host = call.url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isRefused = isIP(host) !== 0 && call.isAllowed?.(host) === false
  if (isRefused || isRefusedLiteral(call.url)) throw new OutboundError('unreachable')
  const limit = AbortSignal.timeout(call.timeoutMs)
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  let begun: Pick<OutboundResponse, 'status' | 'headers'> | undefined
  try {
    const response = await send(call, host, signal)
    begun = { status: response.statusCode ?? 0, headers: response.headers }
    return { ...begun, blocks: await readBlocks(response, call) }
  } catch (error) {
    const kind =
      error instanceof OversizeError
        ? 'too_large'
        : limit.aborted || error instanceof ConnectTimeoutError
          ? 'timeout'
          : 'unreachable'
    throw new OutboundError(kind, { cause: error, response: begun })
  }
}

function send(call: OutboundCall, host: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, method = 'GET', body, extraRoots = [] } = call
  const isSecure = url.protocol === 'https:'
  const options = {
    host,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method,
    headers: {
      ...call.headers,
      ...(call.takesGzip === true ? { 'accept-encoding': 'gzip' } : {}),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    agent: false as const,
    lookup:
      call.isAllowed === undefined
        ? guardedLookup((address) => isCallable(address, call.allowPrivate === true))
        : guardedLookup(call.isAllowed, undefined, { everyAddress: true }),
    signal,
    // Set explicitly, because an environment variable could disable the default.
    ...(isSecure ? { rejectUnauthorized: true } : {}),
    ...(isSecure && isIP(host) === 0 ? { servername: host } : {}),
    ...(isSecure && extraRoots.length > 0 ? { secureContext: contextWith(extraRoots) } : {}),
  }
  return new Promise((resolve, reject) => {
    const request = (isSecure ? secureRequest : plainRequest)(options, resolve)
    request.on('error', reject)
    if (call.connectMs !== undefined) limitConnecting(request, call.connectMs, isSecure ? 'secureConnect' : 'connect')
    request.end(body)
  })
}

/** Settings name few lists; an earlier one is only needed again after it was configured again. */
const MAX_CONTEXTS = 8
const contexts = new Map<string, SecureContext>()

/** The roots of the system and these. Parsed once: it takes tens of milliseconds, which each connection would repeat. */
export function contextWith(extraRoots: readonly string[]): SecureContext {
  const key = extraRoots.join('\n')
  const known = contexts.get(key)
  if (known !== undefined) return known
  const made = createSecureContext({ ca: [...getCACertificates('default'), ...extraRoots] })
  const [oldest] = contexts.keys()
  if (contexts.size >= MAX_CONTEXTS && oldest !== undefined) contexts.delete(oldest)
  contexts.set(key, made)
  return made
}

/** The connection is new for every call (`agent: false`), so its socket is not connected yet. */
function limitConnecting(request: ClientRequest, ms: number, connected: 'connect' | 'secureConnect'): void {
  const timer = setTimeout(() => request.destroy(new ConnectTimeoutError()), ms)
  request.once('socket', (socket) => socket.once(connected, () => clearTimeout(timer)))
  request.once('close', () => clearTimeout(timer))
}
