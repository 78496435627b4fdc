import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { GATEWAY_ERRORS, GATEWAY_HEADERS, GatewayRefusal } from '@chancery/contract'
import type { Refusal } from '@chancery/contract'
import {
  AccessLog,
  Answer,
  Gatekeeper,
  Pipelined,
  answerBrokenRequest,
  answerUnmetExpectation,
  checkRawRequest,
  endingWith,
  inRequestSpan,
  isTracing,
} from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import type { TlsMaterial } from '../policy/tls-files.ts'
import type { GatewayBinding } from './call.ts'
import { ClientAuthority } from './client-authority.ts'
import { Deadline } from './deadline.ts'
import { answerFor, errorAnswer, toRefusal } from './error-body.ts'
import { HANDSHAKE_MS, Handshakes } from './handshakes.ts'
import { answerExchange, isServerFailure } from './pipeline.ts'
import type { Exchange, Told } from './pipeline.ts'
import { Places } from './places.ts'
import { RequestIds } from './request-ids.ts'
import { RouteTable } from './route-table.ts'
import { send } from './send.ts'

/** protocol/gateway 3.2, listener hardening. */
const LISTENER: ServerOptions = {
  maxHeaderSize: 32_768,
  headersTimeout: 10_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 5000,
  // Bodies are bounded by the deadline of the request; this only catches what never becomes one.
  requestTimeout: 305_000,
  insecureHTTPParser: false,
  requireHostHeader: false,
}
const REQUESTS_PER_CONNECTION = 1000
const CONNECTIONS = 2000
/** Half of the connections: bodies that do not come leave room for other requests. */
const BODIES_AT_ONCE = CONNECTIONS / 2
/** Room for the bodies of all requests together: a few of the largest, or many small ones. */
const BODY_ROOM_FACTOR = 16
const MIN_BODY_ROOM = 67_108_864

/** The HTTP edge of the gateway: one pipeline for every route, one body for every failure. */
export class Edge {
  readonly #office: Office
  readonly #routes: RouteTable
  readonly #gate: Gatekeeper
  readonly #places: Places
  readonly #ids: RequestIds
  readonly #access: AccessLog
  readonly #server: Server | SecureServer
  /** Of the mutual TLS listener only. */
  readonly #clients: ClientAuthority | undefined

  constructor(office: Office, bindings: readonly GatewayBinding<Office>[], tls: TlsMaterial | undefined) {
    this.#office = office
    this.#routes = new RouteTable(bindings)
    this.#ids = new RequestIds(office.ids)
    const { maxInflight, maxBodyBytes, accessLogLevel: level, accessLogEvery: every } = office.settings
    const { accessLogSlowMs: slowMs } = office.settings
    this.#access = new AccessLog({ log: office.log, instance: this.#ids.instance, level, every, slowMs })
    // An ingress may hold all connections alone; to another address it loses one. Requests are for the places.
    this.#gate = new Gatekeeper({ inFlight: 0, connections: CONNECTIONS, connectionsPerAddress: CONNECTIONS })
    this.#places = new Places({
      requests: maxInflight,
      bodies: BODIES_AT_ONCE,
      bodyBytes: Math.max(MIN_BODY_ROOM, maxBodyBytes * BODY_ROOM_FACTOR),
    })
    this.#clients = tls === undefined ? undefined : new ClientAuthority(tls.clientCa)
    this.#server = this.#createServer(tls)
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      // A TCP listener has an address object, never a path.
      this.#server.listen(port, host, () => resolve(this.#server.address() as AddressInfo))
    })
  }

  /** New TLS material for connections from now on; kept ones go on only under the new authorities of clients. */
  replaceTls(tls: TlsMaterial): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(this.#tlsOptions(tls))
    this.#clients?.replace(tls.clientCa)
  }

  /** From now on every answer ends its connection: callers go elsewhere before the listener is closed. */
  stopKeeping(): void {
    this.#gate.stopKeeping()
  }

  stopAccepting(): Promise<void> {
    return this.#gate.drain({ server: this.#server, close: async () => undefined })
  }

  #createServer(tls: TlsMaterial | undefined): Server | SecureServer {
    const pipelined = new Pipelined((request, response) => this.#serve(request, response))
    const server = tls === undefined ? this.#createPlain(pipelined) : this.#createSecure(tls, pipelined)
    server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION
    // Unlimited here: Node would drop headers beyond a limit in silence; checkRawRequest counts and refuses.
    server.maxHeadersCount = 0
    const toBroken = (refusal: Refusal): Answer => this.#brokenAnswer(refusal)
    server.on('request', (request, response) => pipelined.take(request, response))
    server.on('checkExpectation', (request, response) =>
      pipelined.take(request, response, () => answerUnmetExpectation(response, toBroken)),
    )
    server.on('clientError', (error: Error & { code?: string }, socket) =>
      answerBrokenRequest(error, socket as Socket, toBroken),
    )
    server.on('connect', (_request, socket) => {
      pipelined.release(socket as Socket)
      answerBrokenRequest(new Error('CONNECT'), socket as Socket, toBroken)
    })
    return server
  }

  #createPlain(pipelined: Pipelined): Server {
    const server = createPlain(LISTENER)
    server.on('connection', (socket) => {
      this.#gate.admit(socket)
      pipelined.watch(socket)
    })
    return server
  }

  #createSecure(tls: TlsMaterial, pipelined: Pipelined): SecureServer {
    const handshake = { requestCert: true, rejectUnauthorized: true, handshakeTimeout: HANDSHAKE_MS }
    const server = createSecure({ ...LISTENER, ...this.#tlsOptions(tls), ...handshake })
    const handshakes = new Handshakes()
    const [start] = server.listeners('connection')
    if (start === undefined) throw new Error('the platform listens for no connections')
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      this.#gate.admit(socket)
      if (!socket.destroyed) handshakes.begin(socket, () => start.call(server, socket))
    })
    server.on('secureConnection', (secure) => {
      const below = handshakes.finish(secure)
      if (below !== undefined) this.#gate.secure(secure, below)
      this.#clients?.watch(secure)
      pipelined.watch(secure)
    })
    return server
  }

  #tlsOptions({ cert, key, clientCa }: TlsMaterial) {
    const minVersion = this.#office.settings.tlsMin === '1.2' ? ('TLSv1.2' as const) : ('TLSv1.3' as const)
    return { cert, key, ca: clientCa, minVersion, ALPNProtocols: ['http/1.1'] }
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    if (this.#clients?.isWithdrawn(request.socket) === true) {
      request.socket.destroy()
      return
    }
    const startedMs = this.#office.clock.monotonicMs()
    const requestId = this.#ids.next()
    this.#gate.openAnswer(request.socket)
    const arrived: Arrived = { requestId, startedMs, told: { caller: 'anonymous', isWritten: false } }
    const give = (answer: Answer, thrown?: unknown): void => this.#give(request, response, answer, arrived, thrown)
    const refuse = (thrown: unknown): void => give(answerFor(thrown, requestId, this.#office.log), thrown)
    let answer: Soon<Answer>
    try {
      answer = this.#answer(request, arrived)
    } catch (thrown) {
      refuse(thrown)
      return
    }
    if (answer instanceof Promise) void answer.then((given) => give(given), refuse)
    else give(answer)
  }

  #give(request: IncomingMessage, response: ServerResponse, answer: Answer, arrived: Arrived, thrown: unknown): void {
    const { requestId, startedMs } = arrived
    const { metrics, clock, log } = this.#office
    metrics.requests.increase()
    if (isServerFailure(answer.status ?? 200)) metrics.failures.increase()
    const milliseconds = clock.monotonicMs() - startedMs
    metrics.duration.observe(milliseconds / 1000)
    if (!arrived.told.isWritten) this.#tell(arrived, answer.status ?? 200, milliseconds, thrown)
    try {
      const isWritten = send(request, response, answer, { requestId, closing: this.#gate.draining })
      if (isWritten) this.#gate.closeAnswer(request.socket)
      else response.once('close', () => this.#gate.closeAnswer(request.socket))
    } catch (error) {
      // Half an answer may be out: the caller must not take it for a whole one.
      log.error('an answer could not be sent', { request_id: requestId, error })
      this.#gate.closeAnswer(request.socket)
      response.destroy()
    }
  }

  /** Steps 2, 3 and 5 of protocol/gateway 5.1, then the route's own. */
  #answer(request: IncomingMessage, arrived: Arrived): Soon<Answer> {
    checkRawRequest(request)
    checkFieldSizes(request)
    const match = this.#routes.match(request)
    arrived.route = match.binding.route
    const { settings } = this.#office
    if (Number(request.headers['content-length'] ?? 0) > settings.maxBodyBytes)
      throw new GatewayRefusal('body_too_large')
    const deadline = new Deadline(settings.timeoutMs)
    const exchange = { ...arrived, request, match, deadline }
    const run = (): Soon<Answer> => answerExchange(exchange, this.#office, this.#places)
    return endingWith(isTracing ? () => inSpan(exchange, run) : run, () => deadline.clear())
  }

  #tell({ requestId, told, route }: Arrived, status: number, milliseconds: number, thrown: unknown): void {
    const refusal = thrown === undefined ? undefined : (toRefusal(thrown) ?? new GatewayRefusal('internal'))
    this.#access.note({
      requestId,
      route: route === undefined ? 'none' : `${route.method} ${route.path}`,
      status,
      milliseconds,
      caller: told.caller,
      code: refusal === undefined ? undefined : GATEWAY_ERRORS[refusal.error].reason,
      cause: refusal?.cause ?? thrown,
      isProbe: route?.admission === 'exempt',
    })
  }

  #brokenAnswer(refusal: Refusal): Answer {
    const requestId = this.#ids.next()
    const told: Told = { caller: 'anonymous', isWritten: false }
    const { body, contentType, status, headers } = errorAnswer(
      toRefusal(refusal) ?? new GatewayRefusal('internal'),
      requestId,
    )
    this.#tell({ requestId, startedMs: 0, told }, status ?? 400, 0, refusal)
    return new Answer(body, contentType, status, { ...GATEWAY_HEADERS, ...headers, 'x-request-id': requestId })
  }
}

/** One request from its first byte to its answer. */
interface Arrived {
  readonly requestId: string
  readonly startedMs: number
  readonly told: Told
  route?: GatewayBinding<Office>['route']
}

function inSpan({ request, requestId, match }: Exchange, run: () => Soon<Answer>): Promise<Answer> {
  const { rawHeaders, method = '' } = request
  return inRequestSpan({ route: match.binding.route.path, method, requestId, rawHeaders }, async (span) => {
    try {
      const answer = await run()
      span?.end(answer.status ?? 200)
      return answer
    } catch (thrown) {
      const refusal = toRefusal(thrown) ?? new GatewayRefusal('internal')
      span?.end(errorAnswer(refusal, requestId).status ?? 500)
      throw thrown
    }
  })
}

/** The longest field that means anything is a token of 16 KiB behind its scheme; nothing else needs that much. */
const MAX_FIELD_BYTES = 16_384 + 16

function checkFieldSizes({ rawHeaders }: IncomingMessage): void {
  if (rawHeaders.some((text) => text.length > MAX_FIELD_BYTES)) throw new GatewayRefusal('headers_too_large')
}
