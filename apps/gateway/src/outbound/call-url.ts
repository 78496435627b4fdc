import { request as plainRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { getCACertificates } from 'node:tls'
import { joinBytes } from '@chancery/protocol'
import { traced } from '@chancery/service-kit'
import { guardedLookup, isRefusedLiteral } from './address-rules.ts'
import { OversizeError, readBlocks } from './read-blocks.ts'

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
  /** Asks for gzip and decodes it; what it decodes to counts against `maxBytes` while it is decoded. */
  readonly takesGzip?: boolean
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface OutboundAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: Uint8Array
}

/** The body in blocks of their own memory: they go to another thread without a copy, and are joined there. */
export interface BlocksAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly blocks: Uint8Array<ArrayBuffer>[]
}

interface FailureFacts {
  readonly wasSent?: boolean
  readonly answer?: Pick<OutboundAnswer, 'status' | 'headers'> | undefined
}

/** The call came to nothing: no connection, no answer in time, or too much of it. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure'
  readonly kind: 'unreachable' | 'timeout' | 'too_large'
  /** Some of it may have left: whether it had an effect is not known. */
  readonly wasSent: boolean
  /** Of an answer that began and could not be read to its end. */
  readonly answer: Pick<OutboundAnswer, 'status' | 'headers'> | undefined

  constructor(kind: OutboundFailure['kind'], options?: ErrorOptions & FailureFacts) {
    super(kind, options)
    this.kind = kind
    this.wasSent = options?.wasSent === true
    this.answer = options?.answer
  }
}

/**
 * Calls one configured address (reliability 11): no redirects, no proxies of the environment, no cookies, TLS verified,
 * time and size bounded while reading.
 */
export async function callUrl(call: OutboundCall): Promise<OutboundAnswer> {
  const { status, headers, blocks } = await callForBlocks(call)
  return { status, headers, body: joinBytes(blocks) }
}

export function callForBlocks(call: OutboundCall): Promise<BlocksAnswer> {
  const about = { 'http.request.method': call.method ?? 'GET', 'server.address': call.url.host }
  return traced('call', about, () => callOnce(call))
}

async function callOnce(call: OutboundCall): Promise<BlocksAnswer> {
  const host = call.url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isRefusedLiteral(call.url)) throw new OutboundFailure('unreachable')
  const limit = AbortSignal.timeout(call.timeoutMs)
  const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
  let begun: Pick<OutboundAnswer, 'status' | 'headers'> | undefined
  try {
    const answer = await send(call, host, signal)
    begun = { status: answer.statusCode ?? 0, headers: answer.headers }
    return { ...begun, blocks: await readBlocks(answer, call) }
  } catch (error) {
    const kind = error instanceof OversizeError ? 'too_large' : limit.aborted ? 'timeout' : 'unreachable'
    throw new OutboundFailure(kind, { cause: error, answer: begun })
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
