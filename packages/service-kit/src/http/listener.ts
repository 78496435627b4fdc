import { lookup } from 'node:dns/promises'
import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { type Server as SecureServer, createServer as createSecure } from 'node:https'
import { type AddressInfo, type Server as TcpServer, type Socket, createServer as createTcp } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { SERVER_LIMITS } from '@chancery/contract'
import type { AdmissionControl } from './admission-control.ts'
import { type ToBrokenResponse, respondToBrokenRequest, respondToUnmetExpectation } from './broken-request.ts'
import { HANDSHAKE_MS, Handshakes } from './handshakes.ts'
import { Pipelined } from './pipelined.ts'

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
  readonly gate: AdmissionControl
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
  // Checked by raw-request.ts, so that the refusal has the usual form.
  requireHostHeader: false,
}

/** Creates a server that admits connections by address and gives requests to `serve` one by one for each connection. */
export function createListener(options: ListenerOptions): Server | SecureServer {
  const { serve, toBroken, limits } = options
  const pipelined = new Pipelined(serve)
  const times = { ...TIMES, maxHeaderSize: limits.headBytes, requestTimeout: limits.requestTimeoutMs }
  const server =
    options.tls === undefined
      ? createPlainListener(times, options.gate, pipelined)
      : createSecureListener({ ...times, ...options.tls.context }, options.tls, options.gate, pipelined)
  // Unlimited, because Node drops headers over a limit without an error. raw-request.ts counts and refuses.
  server.maxHeadersCount = 0
  const take = (request: IncomingMessage, response: ServerResponse): void => pipelined.take(request, response)
  server.on('request', take)
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

function createPlainListener(options: ServerOptions, gate: AdmissionControl, pipelined: Pipelined): Server {
  const server = createPlain(options)
  server.on('connection', (socket) => {
    gate.admit(socket)
    pipelined.watch(socket)
  })
  return server
}

function createSecureListener(
  options: ServerOptions,
  { onSecure }: ListenerTls,
  gate: AdmissionControl,
  pipelined: Pipelined,
): SecureServer {
  const mutual = { requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] }
  const server = createSecure({ ...options, ...mutual, handshakeTimeout: HANDSHAKE_MS })
  const handshakes = new Handshakes()
  const [start] = server.listeners('connection')
  if (start === undefined) throw new Error('the TLS server has no connection listener')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    gate.admit(socket)
    if (!socket.destroyed) handshakes.begin(socket, () => start.call(server, socket))
  })
  server.on('secureConnection', (secure) => {
    const below = handshakes.finish(secure)
    if (below !== undefined) gate.secure(secure, below)
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
