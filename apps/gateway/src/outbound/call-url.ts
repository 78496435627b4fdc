import { request as plainRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { traced } from '@chancery/service-kit'
import { guardedLookup, isRefusedLiteral } from './address-rules.ts'

export interface OutboundCall {
  readonly url: URL
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** From the first step to the last byte. */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Roots beside the system's own, as PEM. */
  readonly extraRoots?: readonly string[]
  /** Names may resolve to private addresses; addresses written out by the operator always may. */
  readonly allowPrivate?: boolean
  readonly signal?: AbortSignal
}

export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

/** The call came to nothing: no connection, no answer in time, or too much of it. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure'
  readonly kind: 'unreachable' | 'timeout' | 'too_large'

  constructor(kind: OutboundFailure['kind'], options?: ErrorOptions) {
    super(kind, options)
    this.kind = kind
  }
}

/**
 * Calls one configured address (reliability 11): no redirects, no proxies of the environment, no cookies, TLS verified,
 * time and size bounded while reading.
 */
export function callUrl(call: OutboundCall): Promise<OutboundAnswer> {
  const about = { 'http.request.method': call.method ?? 'GET', 'server.address': call.url.host }
  return traced('call', about, () => callOnce(call))
}

async function callOnce(call: OutboundCall): Promise<OutboundAnswer> {
  const host = call.url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isRefusedLiteral(call.url)) throw new OutboundFailure('unreachable')
  const limit = AbortSignal.timeout(call.timeoutMs)
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  try {
    const answer = await send(call, host, signal)
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await readAll(answer, call.maxBytes) }
  } catch (error) {
    if (error instanceof OutboundFailure) throw error
    throw new OutboundFailure(limit.aborted ? 'timeout' : 'unreachable', { cause: error })
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
    headers: { ...call.headers, ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
    agent: false as const,
    lookup: guardedLookup(call.allowPrivate === true),
    signal,
    // Said although it is the default: a variable of the environment could turn it off.
    ...(isSecure ? { rejectUnauthorized: true } : {}),
    ...(isSecure && isIP(host) === 0 ? { servername: host } : {}),
    // Given only where needed: the default set is parsed once by the platform, an own one for every connection.
    ...(isSecure && extraRoots.length > 0 ? { ca: [...getCACertificates('default'), ...extraRoots] } : {}),
  }
  return new Promise((resolve, reject) => {
    const request = (isSecure ? secureRequest : plainRequest)(options, resolve)
    request.on('error', reject)
    request.end(body)
  })
}

async function readAll(answer: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  if (Number(answer.headers['content-length'] ?? 0) > maxBytes) {
    answer.destroy()
    throw new OutboundFailure('too_large')
  }
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      answer.destroy()
      throw new OutboundFailure('too_large')
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}
