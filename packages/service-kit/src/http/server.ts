import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { CONTENT_TYPES, LIMITS, Refusal, SERVER_LIMITS } from '@chancery/contract'
import type { ErrorCode, RoomName, Route } from '@chancery/contract'
import { fastify } from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Ids } from '../ids.ts'
import { allowedMethods } from './allow.ts'
import { Answer } from './answer.ts'
import type { Binding, HandlerAnswer } from './bind.ts'
import { BodyRooms, bodyRoomLimits } from './body-rooms.ts'
import type { BodyRoomLimits } from './body-rooms.ts'
import { answerBrokenRequest, answerUnmetExpectation, brokenAnswer } from './broken-request.ts'
import { toErrorAnswer } from './error-envelope.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeOptions } from './exchange.ts'
import { Gatekeeper } from './gatekeeper.ts'
import { GzipCopies } from './gzip-copies.ts'
import { LongWork } from './long-work.ts'
import { Pipelined } from './pipelined.ts'
import { checkRawRequest } from './raw-request.ts'
import { requestIdOf } from './request-id.ts'
import { send } from './send.ts'
import { readTarget } from './target.ts'
import { Verifications, Withdrawals } from './verifications.ts'

export interface ServerOptions<Context> extends ExchangeOptions<Context> {
  readonly bindings: readonly Binding<Context>[]
  readonly ids: Ids
  /** Room for bodies; by default what `maxRequestBytes` asks for. */
  readonly bodyRooms?: BodyRoomLimits
  /** The code for paths below a prefix that no route serves; everywhere else it is `not_found`. */
  readonly missing?: { readonly prefix: string; readonly code: ErrorCode }
}

/** What a server has taken on at this moment. All of it goes back to nothing when no request is open. */
export interface ServerLoad {
  readonly inFlight: number
  readonly verifications: number
  readonly connections: number
  readonly bodyBytes: Readonly<Record<RoomName, number>>
}

export interface HttpServer {
  readonly app: FastifyInstance
  load(): ServerLoad
  listen(host: string, port: number): Promise<string>
  /** From now on every answer ends its connection: callers go elsewhere before the listener is closed. */
  stopKeeping(): void
  /** Stops listening, lets requests in flight finish, then closes what is idle. */
  stopAccepting(): Promise<void>
}

/** The HTTP edge: strict reading, one pipeline for every route, one envelope for every failure. */
export function createServer<Context>(options: ServerOptions<Context>): HttpServer {
  const { bindings, ids, log } = options
  const toBroken = (refusal: Refusal): Answer => {
    const requestId = ids.uuid()
    const answer = brokenAnswer(refusal, requestId)
    tellAside(requestId, answer.status ?? 400, refusal)
    return answer
  }
  const gate = new Gatekeeper({
    inFlight: SERVER_LIMITS.inFlightRequests,
    connections: SERVER_LIMITS.connections,
    connectionsPerAddress: options.proxyHops > 0 ? 0 : SERVER_LIMITS.connectionsPerAddress,
  })
  const verifications = new Verifications()
  const withdrawals = new Withdrawals()
  const rooms = new BodyRooms(options.bodyRooms ?? bodyRoomLimits(options.maxRequestBytes))
  const longWork = new LongWork()
  const copies = new GzipCopies()
  const app = fastify({
    logger: false,
    genReqId: (raw: IncomingMessage) => requestIdOf(raw, ids),
    exposeHeadRoutes: false,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // Requests that arrive while draining are still answered; the listener is closed by stopAccepting.
    return503OnClosing: false,
    routerOptions: { maxParamLength: LIMITS.requestHeadBytes },
    http: {
      maxHeaderSize: LIMITS.requestHeadBytes,
      headersTimeout: SERVER_LIMITS.headersTimeoutSeconds * 1000,
      requestTimeout: SERVER_LIMITS.requestTimeoutSeconds * 1000,
      connectionsCheckingInterval: SERVER_LIMITS.timeoutCheckIntervalSeconds * 1000,
      keepAliveTimeout: SERVER_LIMITS.keepAliveTimeoutSeconds * 1000,
      insecureHTTPParser: false,
      // Checked by raw-request.ts, which answers in the envelope.
      requireHostHeader: false,
    },
    keepAliveTimeout: SERVER_LIMITS.keepAliveTimeoutSeconds * 1000,
    requestTimeout: SERVER_LIMITS.requestTimeoutSeconds * 1000,
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) =>
      answerBrokenRequest(error, socket, toBroken),
    frameworkErrors: (_error, request, reply) => {
      answerAside(reply, new Refusal('bad_request'), request.id)
    },
  })
  // Unlimited here: Node would drop headers beyond a limit in silence; raw-request.ts counts and refuses.
  app.server.maxHeadersCount = 0
  const pipelined = takeTurns(app.server)
  app.server.on('connection', (socket: Socket) => {
    gate.admit(socket)
    pipelined.watch(socket)
  })
  // The pipeline says when the body may come: until then a caller that asks first has sent nothing of it.
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
    app.server.emit('request', request, response),
  )
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    pipelined.release(socket)
    answerBrokenRequest(new Error('CONNECT'), socket, toBroken)
  })
  // Bodies are read by body.ts from the raw stream: the framework's parsers would accept what ours refuses.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined))
  // Content types are judged by body.ts in their place in the order of checks, from the raw headers.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.headers['content-type'] !== undefined) request.raw.headers['content-type'] = CONTENT_TYPES.json
    done()
  })
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    pipelined.take(request, response, () => answerUnmetExpectation(response, toBroken)),
  )
  app.setErrorHandler((error, request, reply) => {
    log.error('request failed outside its handler', { request_id: request.id, error })
    answerAside(reply, error, request.id)
  })

  const served = bindings.map((binding) => binding.route)
  for (const binding of bindings) {
    const { route } = binding
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : [route.method],
      url: toFrameworkPath(route),
      handler: (request, reply) => openExchange(request, reply).serve(binding),
    })
  }
  app.setNotFoundHandler((request, reply) =>
    openExchange(request, reply).answer((note) => answerUnrouted(request, served, options.missing, note)),
  )

  function openExchange(request: FastifyRequest, reply: FastifyReply): Exchange<Context> {
    reply.hijack()
    const arrival = { raw: request.raw, requestId: request.id, params: request.params as Record<string, string> }
    const capacity = { gate, verifications, withdrawals, rooms, longWork, copies }
    return new Exchange(options, capacity, arrival, reply.raw)
  }

  function tellAside(requestId: string, status: number, cause: unknown): void {
    const code = cause instanceof Refusal ? cause.code : 'internal_server_error'
    const about = { requestId, route: 'none', status, code, cause, milliseconds: 0 }
    options.access?.note({ ...about, caller: 'anonymous', isProbe: false })
  }

  /** For what never became an exchange. */
  function answerAside(reply: FastifyReply, error: unknown, requestId: string): void {
    reply.hijack()
    const answer = toErrorAnswer(error, requestId)
    tellAside(requestId, answer.status ?? 500, error)
    send(reply.raw, answer, { requestId, status: answer.status ?? 500, closes: gate.draining ? 'now' : undefined })
  }

  return {
    app,
    load: () => ({
      inFlight: gate.inFlight + verifications.taken + withdrawals.taken,
      connections: gate.connections,
      verifications: verifications.taken,
      bodyBytes: rooms.held,
    }),
    listen: (host, port) => app.listen({ host, port }),
    stopKeeping: () => gate.stopKeeping(),
    stopAccepting: () => gate.drain(app),
  }
}

/** Puts what a caller sends without waiting for answers in front of the framework, in turns. */
function takeTurns(server: FastifyInstance['server']): Pipelined {
  const [serve] = server.listeners('request')
  if (serve === undefined) throw new Error('the framework listens for no requests')
  server.removeAllListeners('request')
  const pipelined = new Pipelined((request, response) => serve.call(server, request, response))
  server.on('request', (request: IncomingMessage, response: ServerResponse) => pipelined.take(request, response))
  return pipelined
}

function answerUnrouted(
  request: FastifyRequest,
  served: readonly Route[],
  missing: ServerOptions<unknown>['missing'],
  note: (code: ErrorCode) => void,
): HandlerAnswer {
  checkRawRequest(request.raw)
  const target = request.raw.url ?? ''
  const { path } = readTarget(target)
  const methods = allowedMethods(served, target.split('?', 1)[0] ?? '')
  if (methods.length === 0)
    throw new Refusal(missing !== undefined && path.startsWith(missing.prefix) ? missing.code : 'not_found')
  const allow = { Allow: methods.join(', ') }
  if (request.method === 'OPTIONS') return new Answer('', '', 204, allow)
  note('method_not_allowed')
  const refused = toErrorAnswer(new Refusal('method_not_allowed'), request.id)
  return new Answer(refused.body, refused.contentType, refused.status, allow)
}

function toFrameworkPath(route: Route): string {
  const path = route.path.replaceAll(/\{([a-z_]+)\}/g, ':$1')
  return route.tail === true ? path.replace(/:[a-z_]+$/, '*') : path
}
