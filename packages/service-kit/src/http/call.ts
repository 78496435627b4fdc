import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import type { Route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { MaybePromise } from '../async/steps.ts'
import { type Query, RawHeaders, type RequestHeaders, decode, readTarget } from './request-head.ts'
import type { HandlerResult } from './response.ts'
import type { PathParams } from './router.ts'

/** One request for a handler: decoded once, with limited size, and with the bytes of its JSON. */
export interface Call {
  readonly requestId: string
  /** Method and path template of the route, for logs and audit. */
  readonly routeId: string
  readonly method: string
  /** Percent-decoded, without query. Signatures cover this form. */
  readonly path: string
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly headers: RequestHeaders
  readonly body: JsonObject
  /** Address of the caller; from the headers of trusted proxies when they are configured. */
  readonly remoteAddress: string
  /** Whom limits count: the address, for IPv6 its /64, or the caller that a trusted gateway names. */
  readonly limitKey: string
  /** Scheme and host that the caller used, as reported by the configured proxies. */
  readonly origin: string
  /** Ends when the caller has its response or has gone. Long work ends with it. */
  readonly signal: AbortSignal
}

/** Returns whom limits count in place of the address. `target` is path and query as sent. */
export type NameCaller = (
  call: Pick<Call, 'headers' | 'method' | 'remoteAddress'>,
  target: string,
) => Promise<string | undefined>

/** A route of the table and its handler. */
export interface Binding {
  readonly route: Route
  readonly handle: (call: Call) => MaybePromise<HandlerResult>
  /** While it gives a promise, calls wait for its end without using a slot of the process. */
  readonly held?: () => Promise<void> | undefined
}

/** The checks between the HTTP edge and the handlers. Each refuses by throwing. */
export interface Guard {
  /** Counts the call. Runs before the body is parsed as JSON, and before a large body is received. */
  limit(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Runs before a large body is received. Refuses a call that no body could authorize. */
  screen(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Authenticates the caller and returns the call for the handler. */
  authorize(call: Call, route: Route): MaybePromise<Call>
}

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

/**
 * Returns the client address (reliability 4): the peer, or with `hops` trusted proxies the entry that the outermost
 * proxy wrote. Entries further left come from the caller and prove nothing. For a missing or invalid entry it returns
 * the peer: then callers share one limit instead of choosing their own.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, hops: number): string {
  if (hops < 1 && isBare(peer)) return peer
  const entry = forwardedEntry(forwardedFor, hops)
  return (entry === undefined ? undefined : readAddress(entry)) ?? readAddress(withoutZone(peer)) ?? peer
}

/** Returns the `hops`-th entry from the right of a comma-separated list, such as X-Forwarded-For. */
export function forwardedEntry(list: string | undefined, hops: number): string | undefined {
  if (list === undefined || hops < 1) return undefined
  let end = list.length
  for (let skipped = 1; skipped < hops; skipped += 1) {
    end = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
    if (end === -1) return undefined
  }
  const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
  return list.slice(comma + 1, end).trim()
}

/**
 * Returns the key of an address for limits: the address, or for IPv6 its /64. One customer usually has a whole /64, and
 * would otherwise have that many limits.
 */
export function limitAddress(address: string): string {
  if (isBare(address)) return address
  const plain = readAddress(withoutZone(address))
  if (plain === undefined || isIPv4(plain)) return plain ?? address
  return `${writeGroups([...readGroups(plain).slice(0, 4), 0, 0, 0, 0])}/64`
}

/** IPv4 or no address: used as written. */
function isBare(address: string): boolean {
  return !address.includes(':') && !address.includes('%')
}

/**
 * Returns the normal form of an address (RFC 5952), IPv4-mapped forms as IPv4; undefined when the text is not an
 * address.
 */
function readAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  // A zone names an interface of the sender's machine, so it has no meaning here.
  if (!isIPv6(text) || text.includes('%')) return undefined
  const groups = readGroups(text)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return writeGroups(groups)
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

function withoutZone(address: string): string {
  const zone = address.indexOf('%')
  return zone === -1 ? address : address.slice(0, zone)
}

/** Returns the eight groups of a valid IPv6 address. */
function readGroups(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const left = readSide(head)
  if (tail === undefined) return left
  const right = readSide(tail)
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function readSide(side: string): number[] {
  if (side === '') return []
  return side.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number(`0x${part}`)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

/** Lower case, no leading zeros, the first longest run of at least two zero groups as `::`. */
function writeGroups(groups: readonly number[]): string {
  let bestStart = 0
  let bestLength = 1
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1
    else if (index + 1 - start > bestLength) {
      bestStart = start
      bestLength = index + 1 - start
    }
  }
  const hex = groups.map((group) => group.toString(16))
  if (bestLength < 2) return hex.join(':')
  return `${hex.slice(0, bestStart).join(':')}::${hex.slice(bestStart + bestLength).join(':')}`
}
