import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { GATEWAY_HEADERS, GatewayRefusal } from '@chancery/contract'
import type { Refusal } from '@chancery/contract'
import {
  Answer,
  Gatekeeper,
  answerBrokenRequest,
  answerUnmetExpectation,
  checkRawRequest,
  endingWith,
  hasBody,
  inRequestSpan,
  isTracing,
} from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { Office } from '../office.ts'
import type { TlsMaterial } from '../policy/tls-files.ts'
import type { GatewayBinding } from './call.ts'
import { Deadline } from './deadline.ts'
import { answerFor, errorAnswer, toRefusal } from './error-body.ts'
import { answerExchange, isServerFailure } from './pipeline.ts'
import type { Exchange } from './pipeline.ts'
import { RequestIds } from './request-ids.ts'
import { RouteTable } from './route-table.ts'

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
/** Room for the bodies of all requests together: a few of the largest, or many small ones. */
const BODY_ROOM_FACTOR = 16
const MIN_BODY_ROOM = 67_108_864
/** How long what is still being sent is read and thrown away after a refusal, so that the refusal can be read. */
const LINGER_MS = 1000

/** The HTTP edge of the gateway: one pipeline for every route, one body for every failure. */
export class Edge {
  readonly #office: Office
  readonly #routes: RouteTable
  readonly #gate: Gatekeeper
  readonly #ids: RequestIds
  readonly #server: Server | SecureServer

  constructor(office: Office, bindings: readonly GatewayBinding<Office>[], tls: TlsMaterial | undefined) {
    this.#office = office
    this.#routes = new RouteTable(bindings)
    this.#ids = new RequestIds(office.ids)
    this.#gate = new Gatekeeper({
      inFlight: office.settings.maxInflight,
      bodyBytes: Math.max(MIN_BODY_ROOM, office.settings.maxBodyBytes * BODY_ROOM_FACTOR),
      connectionsPerAddress: 0,
    })
    this.#server = this.#createServer(tls)
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      // A TCP listener has an address object, never a path.
      this.#server.listen(port, host, () => resolve(this.#server.address() as AddressInfo))
    })
  }

  /** New TLS material for connections from now on. */
  replaceTls(tls: TlsMaterial): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(this.#tlsOptions(tls))
  }

  stopAccepting(): Promise<void> {
    return this.#gate.drain({ server: this.#server, close: async () => undefined })
  }

  #createServer(tls: TlsMaterial | undefined): Server | SecureServer {
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response)
    const server =
      tls === undefined
        ? createPlain(LISTENER, onRequest)
        : createSecure(
            { ...LISTENER, ...this.#tlsOptions(tls), requestCert: true, rejectUnauthorized: true },
            onRequest,
          )
    server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION
    server.maxConnections = CONNECTIONS
    // Unlimited here: Node would drop headers beyond a limit in silence; checkRawRequest counts and refuses.
    server.maxHeadersCount = 0
    server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => this.#gate.admit(socket))
    const toBroken = (refusal: Refusal): Answer => this.#brokenAnswer(refusal)
    server.on('clientError', (error: Error & { code?: string }, socket) =>
      answerBrokenRequest(error, socket as Socket, toBroken),
    )
    server.on('connect', (_request, socket) => answerBrokenRequest(new Error('CONNECT'), socket as Socket, toBroken))
    server.on('checkExpectation', (_request, response) => answerUnmetExpectation(response, toBroken))
    return server
  }

  #tlsOptions({ cert, key, clientCa }: TlsMaterial) {
    const minVersion = this.#office.settings.tlsMin === '1.2' ? ('TLSv1.2' as const) : ('TLSv1.3' as const)
    return { cert, key, ca: clientCa, minVersion, ALPNProtocols: ['http/1.1'] }
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const startedMs = this.#office.clock.monotonicMs()
    const requestId = this.#ids.next()
    this.#gate.openAnswer(request.socket)
    const give = (answer: Answer): void => this.#give(request, response, answer, { requestId, startedMs })
    const refuse = (thrown: unknown): void => give(answerFor(thrown, requestId, this.#office.log))
    let answer: Soon<Answer>
    try {
      answer = this.#answer(request, requestId, startedMs)
    } catch (thrown) {
      refuse(thrown)
      return
    }
    if (answer instanceof Promise) void answer.then(give, refuse)
    else give(answer)
  }

  #give(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Answer,
    { requestId, startedMs }: { readonly requestId: string; readonly startedMs: number },
  ): void {
    const { metrics, clock, log } = this.#office
    metrics.requests.increase()
    if (isServerFailure(answer.status ?? 200)) metrics.failures.increase()
    metrics.duration.observe((clock.monotonicMs() - startedMs) / 1000)
    try {
      const isWritten = send(request, response, answer, { requestId, closing: this.#gate.draining })
      if (isWritten) this.#gate.closeAnswer()
      else response.once('close', () => this.#gate.closeAnswer())
    } catch (error) {
      // Half an answer may be out: the caller must not take it for a whole one.
      log.error('an answer could not be sent', { request_id: requestId, error })
      this.#gate.closeAnswer()
      response.destroy()
    }
  }

  /** Steps 2 to 5 of protocol/gateway 5.1, then the route's own. */
  #answer(request: IncomingMessage, requestId: string, startedMs: number): Soon<Answer> {
    checkRawRequest(request)
    checkFieldSizes(request)
    const match = this.#routes.match(request)
    const { settings } = this.#office
    if (Number(request.headers['content-length'] ?? 0) > settings.maxBodyBytes)
      throw new GatewayRefusal('body_too_large')
    const isExempt = match.binding.route.admission === 'exempt'
    if (!this.#gate.enter(isExempt)) throw new GatewayRefusal('overloaded')
    const deadline = new Deadline(settings.timeoutMs)
    const exchange = { request, requestId, startedMs, match, deadline }
    const run = (): Soon<Answer> => answerExchange(exchange, this.#office, this.#gate)
    return endingWith(isTracing ? () => inSpan(exchange, run) : run, () => {
      deadline.clear()
      this.#gate.leave(isExempt)
    })
  }

  #brokenAnswer(refusal: Refusal): Answer {
    const requestId = this.#ids.next()
    const { body, contentType, status, headers } = errorAnswer(
      toRefusal(refusal) ?? new GatewayRefusal('internal'),
      requestId,
    )
    return new Answer(body, contentType, status, { ...GATEWAY_HEADERS, ...headers, 'x-request-id': requestId })
  }
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

/** Names and values in turn, the form the platform sends with the least work. */
const FIXED_PAIRS: readonly string[] = Object.entries(GATEWAY_HEADERS).flat()

/** Where an answer has a rule of its own for a header, its own counts. */
function pairsWith(headers: { readonly [name: string]: string }): string[] {
  const names = Object.keys(headers)
  const pairs = names.some((name) => name in GATEWAY_HEADERS)
    ? Object.entries(GATEWAY_HEADERS).flatMap(([name, value]) => (name in headers ? [] : [name, value]))
    : [...FIXED_PAIRS]
  for (const name of names) pairs.push(name, headers[name] ?? '')
  return pairs
}

/** False while the connection is kept open for what its caller still sends. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  { body, contentType, status = 200, headers }: Answer,
  { requestId, closing }: { readonly requestId: string; readonly closing: boolean },
): boolean {
  if (response.destroyed) return true
  // Without a body a request is whole before the parser says so.
  const isUnread = hasBody(request) && !request.complete
  const length = Buffer.byteLength(body)
  const pairs = headers === undefined ? [...FIXED_PAIRS] : pairsWith(headers)
  pairs.push('content-type', contentType, 'content-length', String(length), 'x-request-id', requestId)
  // What was not read must not be taken for the next request on this connection.
  if (closing || isUnread) pairs.push('connection', 'close')
  response.writeHead(status, pairs)
  if (request.method === 'HEAD') response.end()
  else if (isUnread) sendAndLinger(request, response, body)
  // A text leaves in one piece with its head; where every character is one byte, without being encoded.
  else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
  else response.end(body)
  return request.method === 'HEAD' || !isUnread
}

/** Closing at once would reset the connection, and a caller that is still sending would never see the refusal. */
function sendAndLinger(request: IncomingMessage, response: ServerResponse, body: string | Uint8Array): void {
  response.write(body)
  const timer = setTimeout(() => response.end(), LINGER_MS)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  request.once('end', end)
  request.once('error', end)
  request.resume()
}
