// oxlint-disable max-lines -- one edge with its client, for all edge tests
import { type Socket, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type RouteFacts, route } from '@chancery/contract'
import { type JsonObject, type JsonValue, asJson, isJsonObject, readJson } from '@chancery/protocol'
import { expect } from 'vitest'
import { systemIds } from '../system.ts'
import { type Log, createLog, silentLog } from '../log/log.ts'
import { CachedDocument } from './response.ts'
import type { Binding } from './call.ts'
import { html, markup } from './html.ts'
import { type HttpServer, type ServerOptions, createServer } from './server.ts'

const facts: RouteFacts = {
  access: 'public',
  limit: 'public',
  stability: 'internal',
  success: 200,
  response: 'json',
  summary: 'Test',
  purpose: 'Test.',
}

export const KEPT_TEXT = '{"kept":"Zoë"}'

/** A table with one route of every kind that the edge treats differently. */
export const TABLE: readonly Binding[] = [
  { route: route('GET /healthz', { ...facts, limit: 'none' }), handle: () => ({ status: 'ok' }) },
  {
    route: route('GET /echo', facts),
    handle: (call) => ({ path: call.path, query: asJson(call.query.toObject()), origin: call.origin }),
  },
  { route: route('POST /echo', facts), handle: (call) => ({ read: call.body }) },
  { route: route('POST /created', { ...facts, success: 201 }), handle: () => ({ made: true }) },
  { route: route('POST /never-empty', { ...facts, emptyBody: 'refused' }), handle: (call) => ({ read: call.body }) },
  { route: route('POST /node', { ...facts, bodyLimit: 'node' }), handle: () => ({}) },
  { route: route('POST /small', { ...facts, bodyLimit: 'small' }), handle: () => ({}) },
  { route: route('POST /feed', { ...facts, bodyLimit: 'feed' }), handle: () => ({}) },
  { route: route('POST /beat', { ...facts, access: 'node', bodyLimit: 'node' }), handle: () => ({ beat: true }) },
  { route: route('POST /order', { ...facts, access: 'operator:privileged' }), handle: () => ({ done: true }) },
  { route: route('GET /things/{name}', facts), handle: (call) => ({ name: call.params['name'] ?? null }) },
  { route: route('DELETE /things/{name}', facts), handle: (call) => ({ name: call.params['name'] ?? null }) },
  {
    route: route('GET /keys/{key}', { ...facts, tail: true }),
    handle: (call) => ({ key: call.params['key'] ?? null }),
  },
  { route: route('GET /nested/static', facts), handle: () => ({}) },
  { route: route('GET /page', { ...facts, response: 'html' }), handle: () => html(markup`<p>page</p>`) },
  {
    route: route('GET /kept', facts),
    handle: () => new CachedDocument(Buffer.from(KEPT_TEXT), 'public, max-age=30, must-revalidate'),
  },
  {
    route: route('GET /broken', facts),
    handle: () => {
      throw new TypeError('canary-cause')
    },
  },
  {
    route: route('GET /large', facts),
    handle: () => new CachedDocument(new Uint8Array(LARGE_BYTES).fill(0x61), 'no-store', 'text/plain'),
  },
]

const HOLD = route('GET /hold', facts)

export const LARGE_BYTES = 12_000_000

export interface Edge {
  readonly server: HttpServer
  readonly port: number
  /** Every line logged, parsed. */
  readonly logged: readonly JsonObject[]
  readonly observed: readonly { readonly route: string; readonly status: number }[]
  stop(): Promise<void>
}

export interface EdgeTestOptions extends Partial<ServerOptions> {
  readonly recordLog?: boolean
  /** What `GET /hold` waits for. */
  readonly hold?: () => Promise<void>
}

export async function startEdge({
  hold = () => Promise.resolve(),
  recordLog = false,
  ...options
}: EdgeTestOptions = {}): Promise<Edge> {
  const logged: JsonObject[] = []
  const observed: { route: string; status: number }[] = []
  const server = createServer({
    guard: { limit: async () => undefined, screen: () => undefined, authorize: async (call) => call },
    ids: systemIds,
    log: recordLog ? logInto(logged) : silentLog,
    proxyHops: 0,
    maxRequestBytes: 2_097_152,
    translate: () => undefined,
    observe: (found, status) => observed.push({ route: found?.id ?? 'none', status }),
    ...options,
    bindings: [...(options.bindings ?? TABLE), { route: HOLD, handle: () => hold().then(() => ({ held: true })) }],
  })
  const url = await server.listen('127.0.0.1', 0)
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= server.stopAccepting())
  return { server: { ...server, stopAccepting: stop }, port: Number(new URL(url).port), logged, observed, stop }
}

function logInto(lines: JsonObject[]): Log {
  const write = (line: string): void => {
    const value = readJson(line)
    if (isJsonObject(value)) lines.push(value)
  }
  return createLog({ level: 'trace', format: 'json', destination: { write } })
}

export interface Reply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly names: readonly string[]
  readonly body: string
  readonly json: JsonValue | undefined
}

/** One raw connection, which can send requests that no client library sends. */
export class Wire {
  readonly socket: Socket
  #received: Buffer = Buffer.alloc(0)
  /** Joined on read, because joining at each piece takes seconds for a large response. */
  #pieces: Buffer[] = []
  #ended = false
  #error: Error | undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#pieces.push(chunk)
    })
    socket.on('error', (error) => {
      this.#error = error
    })
    socket.on('close', () => {
      this.#ended = true
    })
  }

  /** Connects from any address of the loopback network. */
  static async open(port: number, localAddress = '127.0.0.1'): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    const wire = new Wire(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => resolve())
      socket.once('error', reject)
    })
    return wire
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  get isClosed(): boolean {
    return this.#ended
  }

  /** Returns the next response on this connection. */
  async reply(method = 'GET', limitMs = 10_000): Promise<Reply> {
    const until = performance.now() + limitMs
    for (let waitMs = 2; ; waitMs = Math.min(50, waitMs * 1.1)) {
      this.#received = Buffer.concat([this.#received, ...this.#pieces])
      this.#pieces = []
      const found = takeReply(this.#received, method, this.#ended)
      if (found !== undefined) {
        this.#received = this.#received.subarray(found.length)
        return found.reply
      }
      if (this.#ended) {
        const seen = JSON.stringify(this.#received.toString('latin1').slice(0, 200))
        throw new Error(
          `connection closed without a complete response: ${this.#error?.message ?? 'no error'}, got ${seen}`,
        )
      }
      if (performance.now() > until) throw new Error('no response in time')
      await pause(waitMs)
    }
  }

  /** Resolves true when the server ends the connection within the time. */
  async closes(limitMs = 10_000): Promise<boolean> {
    const until = performance.now() + limitMs
    while (!this.#ended && performance.now() < until) await pause(5)
    return this.#ended
  }

  end(): void {
    this.socket.destroy()
  }
}

function takeReply(
  bytes: Buffer,
  method: string,
  ended: boolean,
): { readonly reply: Reply; readonly length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [first = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  const pairs = lines.map(
    (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
  )
  const headers = new Map(pairs)
  if (status === 100) {
    const rest = takeReply(bytes.subarray(headEnd + 4), method, ended)
    return rest === undefined ? undefined : { ...rest, length: rest.length + headEnd + 4 }
  }
  const start = headEnd + 4
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
  const body = hasBody ? takeBody(bytes.subarray(start), headers, ended) : NO_BODY
  if (body === undefined) return undefined
  const text = body.bytes.toString('utf8')
  const reply = { status, headers, names: pairs.map(([name]) => name), body: text, json: tryJson(text) }
  return { reply, length: start + body.length }
}

const NO_BODY = { bytes: Buffer.alloc(0), length: 0 }

/** Reads the body by length, by chunks or to the end of the connection; undefined while it is incomplete. */
function takeBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  ended: boolean,
): { readonly bytes: Buffer; readonly length: number } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return takeChunks(bytes)
  const declared = headers.get('content-length')
  if (declared === undefined) return ended ? { bytes, length: bytes.length } : undefined
  const length = Number(declared)
  return bytes.length < length ? undefined : { bytes: bytes.subarray(0, length), length }
}

function takeChunks(bytes: Buffer): { readonly bytes: Buffer; readonly length: number } | undefined {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), length: next }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}

function tryJson(text: string): JsonValue | undefined {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

/** Sends one request on a new connection. */
export async function once(port: number, text: string | Uint8Array, method?: string): Promise<Reply> {
  const wire = await Wire.open(port)
  try {
    return await wire.send(text).reply(method)
  } finally {
    wire.end()
  }
}

/** Returns a request text. Adds Host unless the head has one. */
export function request(line: string, headers: readonly string[] = [], body = ''): string {
  const hasHost = headers.some((header) => /^host:/i.test(header))
  return [`${line} HTTP/1.1`, ...(hasHost ? [] : ['Host: edge.test']), ...headers, '', body].join('\r\n')
}

export function post(
  port: number,
  body: string | Uint8Array,
  headers: readonly string[] = [],
  path = '/echo',
): Promise<Reply> {
  const bytes = Buffer.from(body)
  const head = request(`POST ${path}`, [`Content-Length: ${bytes.length}`, ...headers])
  return once(port, Buffer.concat([Buffer.from(head), bytes]))
}

// Written out from protocol/core 3, so that the test does not compare a constant with itself.
const SECURITY = {
  'content-security-policy':
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
}

export function expectSecurityHeaders(reply: Reply, cacheControl = 'no-store'): void {
  const wanted = { ...SECURITY, 'cache-control': cacheControl }
  const given = Object.fromEntries(Object.keys(wanted).map((name) => [name, reply.headers.get(name)]))
  expect(given).toEqual(wanted)
  expect(reply.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._:-]{1,128}$/)
  expect(new Set(reply.names).size, 'a header sent twice').toBe(reply.names.length)
}

/** Checks the envelope of a refusal: status, code, empty details, one request id, security headers. */
export function expectRefused(reply: Reply, status: number, code: string): void {
  const error = isJsonObject(reply.json) ? reply.json['error'] : undefined
  expect([reply.status, isJsonObject(error) ? error['code'] : reply.body]).toEqual([status, code])
  expect(error).toEqual({
    code,
    message: expect.stringMatching(/^[A-Z].*\.$/),
    details: code === 'service_unavailable' ? { reason: expect.stringMatching(/^[a-z_]+$/) as string } : {},
    request_id: reply.headers.get('x-request-id'),
  })
  expect(reply.headers.get('content-type')).toBe('application/json')
  expectSecurityHeaders(reply)
}
