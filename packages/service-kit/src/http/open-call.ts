import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { clientAddress, limitAddress } from './client-address.ts'
import { RawHeaders, decode, readTarget } from './target.ts'
import type { Call, NameCaller, Query, RequestHeaders } from './target.ts'
import type { PathParams } from './router.ts'

/** Inputs of a call. */
export interface IncomingRequest {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly route: Route
  /** As sent. */
  readonly params: PathParams
}

/** An open call. Everything except the body is available from the start. */
export class RequestCall implements Call {
  readonly requestId: string
  readonly routeId: string
  readonly method: string
  readonly path: string
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly headers: RequestHeaders
  readonly remoteAddress: string
  limitKey: string
  body: JsonObject = {}
  /** Set when the caller is authenticated, for the access log. */
  caller = 'anonymous'
  readonly #raw: IncomingMessage
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined

  /** Refuses a target with more than one meaning. */
  constructor({ raw, response, requestId, route, params }: IncomingRequest, hops: number) {
    const { path, query } = readTarget(raw.url ?? '')
    this.requestId = requestId
    this.routeId = route.id
    this.method = raw.method ?? ''
    this.path = path
    this.params = decodeAll(params)
    this.query = query
    this.headers = new RawHeaders(raw.rawHeaders)
    this.remoteAddress = addressOf(raw, this.headers, hops)
    this.limitKey = limitAddress(this.remoteAddress)
    this.#raw = raw
    this.#response = response
  }

  /** Of the connection. Host and X-Forwarded-Host are what the caller wrote, also behind a proxy. */
  get origin(): string {
    const { localAddress, localPort } = this.#raw.socket
    const address = localAddress === undefined ? 'localhost' : clientAddress(localAddress, undefined, 0)
    const scheme = 'encrypted' in this.#raw.socket ? 'https' : 'http'
    return new URL(`${scheme}://${isIPv6(address) ? `[${address}]` : address}:${localPort ?? 0}`).origin
  }

  /** Made on demand, because few handlers work for long. A response closes when it was sent, also by the deadline. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal
    const end = new AbortController()
    if (this.#response.closed) end.abort()
    else this.#response.once('close', () => end.abort())
    this.#signal = end.signal
    return end.signal
  }

  async nameBy(nameCaller: NameCaller): Promise<void> {
    this.limitKey = (await nameCaller(this, this.#raw.url ?? '')) ?? this.limitKey
  }
}

/** Records the authenticated kind of caller for the access log. */
export function noteCaller(call: Omit<Call, 'body'>, kind: string): void {
  if (call instanceof RequestCall) call.caller = kind
}

function addressOf(raw: IncomingMessage, headers: RequestHeaders, hops: number): string {
  const forwardedFor = hops > 0 ? headers.all('x-forwarded-for').join(',') || undefined : undefined
  return clientAddress(raw.socket.remoteAddress ?? '', forwardedFor, hops)
}

function decodeAll(params: PathParams): PathParams {
  const decoded: Record<string, string> = {}
  for (const name in params) decoded[name] = decode(params[name] ?? '')
  return decoded
}
