import { lookup } from 'node:dns/promises'
import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { type Server as SecureServer, createServer as createSecure } from 'node:https'
import { type AddressInfo, type Server as TcpServer, type Socket, createServer as createTcp } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { Refusal, type RefusalCode, SERVER_LIMITS } from '@chancery/contract'

import { type Connections, HANDSHAKE_MS, Handshakes } from './connections.ts'
import { Pipelined } from './pipelined.ts'
import type { HttpResponse } from './response.ts'

/** Response of a service to a request that could not be parsed, with all headers. */
type ToBrokenResponse = (refusal: Refusal) => HttpResponse

const CODES: ReadonlyMap<string, RefusalCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'request_header_fields_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])
const LINGER_MS = 1000

const REASONS: ReadonlyMap<number, string> = new Map([
  [400, 'Bad Request'],
  [408, 'Request Timeout'],
  [431, 'Request Header Fields Too Large'],
])

/** Responds to a request that the parser refused, in the usual error envelope, and closes the connection. */
function respondToBrokenRequest(error: Error & { code?: string }, socket: Socket, toAnswer: ToBrokenResponse): void {
  // After CONNECT, Node removes its own error listener: without this one a reset would end the process.
  socket.on('error', () => socket.destroy())
  // An earlier response on this connection must be sent first.
  if (!socket.writable || error.code === 'ECONNRESET' || hasPendingResponse(socket)) {
    socket.destroy()
    return
  }
  const answer = toAnswer(new Refusal(CODES.get(error.code ?? '') ?? 'bad_request'))
  const body = Buffer.from(answer.body)
  const headers = {
    ...answer.headers,
    'Content-Type': answer.contentType,
    'Content-Length': String(body.length),
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const status = answer.status ?? 400
  socket.end(`HTTP/1.1 ${status} ${REASONS.get(status) ?? 'Error'}\r\n${lines.join('')}\r\n${body.toString()}`)
  // The caller has a limited time to read this, because half-open connections would accumulate.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Node stores the current response of a connection in this member. */
function hasPendingResponse(socket: Socket & { readonly _httpMessage?: PendingResponse | null }): boolean {
  // oxlint-disable-next-line no-underscore-dangle -- the platform has no public name for it
  const pending = socket._httpMessage
  return pending !== undefined && pending !== null && (pending.headersSent || pending.req.complete)
}

interface PendingResponse {
  readonly headersSent: boolean
  readonly req: { readonly complete: boolean }
}

/** Refuses a request whose Expect header is not supported, in the error envelope. */
function respondToUnmetExpectation(response: ServerResponse, toAnswer: ToBrokenResponse): void {
  const answer = toAnswer(new Refusal('bad_request'))
  const headers = { ...answer.headers, 'Content-Type': answer.contentType, Connection: 'close' }
  response.writeHead(answer.status ?? 400, headers).end(answer.body)
}

/** Mutual TLS of a listener. */
export interface ListenerTls {
  readonly context: SecureContextOptions
  /** Called for each connection when its handshake is complete. */
  readonly onSecure: (socket: TLSSocket) => void
}

export interface ListenerLimits {
  /** Limit of request line and headers together. */
  readonly headBytes: number
  /** Maximum time for a whole request to arrive. */
  readonly requestTimeoutMs: number
}

export interface ListenerOptions {
  readonly connections: Connections
  readonly limits: ListenerLimits
  readonly tls?: ListenerTls | undefined
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void
  /** Creates the response to a request that could not be parsed. */
  readonly toBroken: ToBrokenResponse
}

const TIMES: ServerOptions = {
  headersTimeout: SERVER_LIMITS.headersTimeoutSeconds * 1000,
  connectionsCheckingInterval: SERVER_LIMITS.timeoutCheckIntervalSeconds * 1000,
  keepAliveTimeout: SERVER_LIMITS.keepAliveTimeoutSeconds * 1000,
  insecureHTTPParser: false,
  // Checked by request-head.ts, so that the refusal has the usual form.
  requireHostHeader: false,
}

/** Creates a server that admits connections by address and gives requests to `serve` one by one for each connection. */
export function createListener(options: ListenerOptions): Server | SecureServer {
  const { serve, toBroken, limits } = options
  const pipelined = new Pipelined(serve)
  const times = { ...TIMES, maxHeaderSize: limits.headBytes, requestTimeout: limits.requestTimeoutMs }
  const server =
    options.tls === undefined
      ? createPlainListener(times, options.connections, pipelined)
      : createSecureListener({ ...times, ...options.tls.context }, options.tls, options.connections, pipelined)
  // Unlimited, because Node drops headers over a limit without an error. request-head.ts counts and refuses.
  server.maxHeadersCount = 0
  pipelined.serve(server)
  // The service sends 100 Continue itself, when it is ready to read the body.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  server.on('checkExpectation', (request, response) =>
    pipelined.take(request, response, () => respondToUnmetExpectation(response, toBroken)),
  )
  server.on('clientError', (error: Error & { code?: string }, socket) =>
    respondToBrokenRequest(error, socket as Socket, toBroken),
  )
  server.on('connect', (_request, socket) => {
    pipelined.release(socket as Socket)
    respondToBrokenRequest(new Error('CONNECT'), socket as Socket, toBroken)
  })
  return server
}

function createPlainListener(options: ServerOptions, connections: Connections, pipelined: Pipelined): Server {
  const server = createPlain(options)
  server.on('connection', (socket) => {
    connections.admit(socket)
    pipelined.watch(socket)
  })
  return server
}

function createSecureListener(
  options: ServerOptions,
  { onSecure }: ListenerTls,
  connections: Connections,
  pipelined: Pipelined,
): SecureServer {
  const mutual = { requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] }
  const server = createSecure({ ...options, ...mutual, handshakeTimeout: HANDSHAKE_MS })
  const handshakes = new Handshakes()
  const [start] = server.listeners('connection')
  if (start === undefined) throw new Error('the TLS server has no connection listener')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    connections.admit(socket)
    if (!socket.destroyed) handshakes.begin(socket, () => start.call(server, socket))
  })
  server.on('secureConnection', (secure) => {
    const below = handshakes.finish(secure)
    if (below !== undefined) connections.secure(secure, below)
    onSecure(secure)
    pipelined.watch(secure)
  })
  return server
}

/** Starts listening; `localhost` means all its addresses. Returns the first address and how to stop the others. */
export async function startListening(
  server: Server | SecureServer,
  host: string,
  port: number,
): Promise<{ readonly address: AddressInfo; readonly others: readonly TcpServer[] }> {
  const address = await listenOn(server, host, port)
  if (host !== 'localhost') return { address, others: [] }
  const found = await lookup(host, { all: true }).catch(() => [])
  const others: TcpServer[] = []
  for (const other of found) {
    if (other.address === address.address) continue
    const more = createTcp({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket))
    // The first address is enough to serve.
    await listenOn(more, other.address, address.port).then(
      () => others.push(more),
      () => undefined,
    )
  }
  return { address, others }
}

function listenOn(server: TcpServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A TCP listener has an address object, never a path.
      resolve(server.address() as AddressInfo)
    })
  })
}

/** Returns the URL of a listener. For all interfaces it uses the loopback address. */
export function urlOf({ address, port }: AddressInfo): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
