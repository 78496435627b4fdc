import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { CONTENT_TYPES, LIMITS, REQUEST_ID_HEADER, Refusal, SECURITY_HEADERS, SERVER_LIMITS } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import { fastify } from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress } from '../client-address.ts'
import type { Ids } from '../ids.ts'
import type { Log } from '../log.ts'
import { allowedMethods } from './allow.ts'
import { Answer, KeptDocument, isNotModified, json } from './answer.ts'
import type { Binding, Guard, HandlerAnswer } from './bind.ts'
import { readBody, readBodyBytes } from './body.ts'
import { toRequestHeaders } from './call.ts'
import type { Call } from './call.ts'
import { answerBrokenRequest, answerUnmetExpectation } from './broken-request.ts'
import { toErrorAnswer } from './error-envelope.ts'
import { Gatekeeper } from './gatekeeper.ts'
import { MalformedRequest } from './malformed-request.ts'
import { checkRawRequest } from './raw-request.ts'
import { requestIdOf } from './request-id.ts'
import { readTarget } from './target.ts'

export interface ServerOptions<Context> {
  readonly bindings: readonly Binding<Context>[]
  readonly context: Context
  readonly guard: Guard
  readonly ids: Ids
  readonly log: Log
  /** How many proxies in front may be believed about address, scheme and host. */
  readonly proxyHops: number
  readonly maxRequestBytes: number
  /** Turns errors of the service's own infrastructure into the refusal they mean; undefined for bugs. */
  readonly translate: (error: unknown) => Refusal | undefined
  /** Called once per answered request, for metrics. */
  readonly observe: (route: Route | undefined, status: number, seconds: number) => void
}

export interface HttpServer {
  readonly app: FastifyInstance
  listen(host: string, port: number): Promise<string>
  /** Stops listening, lets requests in flight finish, then closes what is idle. */
  stopAccepting(): Promise<void>
}

/** The HTTP edge: strict reading, one pipeline for every route, one envelope for every failure. */
export function createServer<Context>(options: ServerOptions<Context>): HttpServer {
  const { bindings, ids, log } = options
  const gate = new Gatekeeper({
    inFlight: SERVER_LIMITS.inFlightRequests,
    bodyBytes: SERVER_LIMITS.bufferedBodyBytes,
    connectionsPerAddress: options.proxyHops > 0 ? 0 : SERVER_LIMITS.connectionsPerAddress,
  })
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
      answerBrokenRequest(error, socket, ids.uuid()),
    frameworkErrors: (_error, request, reply) => {
      send(reply, request.id, request.method, toErrorAnswer(new Refusal('bad_request'), request.id), 400, gate.draining)
    },
  })
  // Unlimited here: Node would drop headers beyond a limit in silence; raw-request.ts counts and refuses.
  app.server.maxHeadersCount = 0
  app.server.maxConnections = SERVER_LIMITS.connections
  app.server.on('connection', (socket: Socket) => gate.admit(socket))
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    answerBrokenRequest(new Error('CONNECT'), socket, ids.uuid()),
  )
  // Bodies are read by body.ts from the raw stream: the framework's parsers would accept what ours refuses.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined))
  // Content types are judged by body.ts in their place in the order of checks, from the raw headers.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.headers['content-type'] !== undefined) request.raw.headers['content-type'] = CONTENT_TYPES.json
    done()
  })
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
    answerUnmetExpectation(response, ids.uuid()),
  )
  app.setErrorHandler((error, request, reply) => {
    log.error('request failed outside its handler', { request_id: request.id, error })
    return send(reply, request.id, request.method, toErrorAnswer(error, request.id), 500, gate.draining)
  })

  const served = bindings.map((binding) => binding.route)
  for (const binding of bindings) {
    const { route } = binding
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : [route.method],
      url: toFrameworkPath(route),
      handler: (request, reply) => respond(request, reply, route, () => serve(binding, request, options, gate)),
    })
  }
  app.setNotFoundHandler((request, reply) => respond(request, reply, undefined, () => answerUnrouted(request, served)))

  async function respond(
    request: FastifyRequest,
    reply: FastifyReply,
    route: Route | undefined,
    answerRequest: () => Promise<HandlerAnswer> | HandlerAnswer,
  ): Promise<FastifyReply> {
    const started = performance.now()
    let answer: HandlerAnswer
    gate.openAnswer()
    reply.raw.once('close', () => gate.closeAnswer())
    const isLast = requestsOn(request.raw.socket) >= SERVER_LIMITS.requestsPerConnection
    try {
      answer = await answerRequest()
    } catch (error) {
      const refusal = error instanceof Refusal ? error : options.translate(error)
      if (refusal === undefined)
        log.error('unexpected error', { request_id: request.id, route: route?.id ?? 'none', error })
      else if (refusal !== error)
        log.warn('infrastructure failed', { request_id: request.id, route: route?.id ?? 'none', error })
      answer = toErrorAnswer(refusal ?? error, request.id, route)
      // What was not read must not be taken for the next request on this connection.
      if (!request.raw.complete || error instanceof MalformedRequest) reply.header('Connection', 'close')
    }
    if (isLast) reply.header('Connection', 'close')
    const status = answer instanceof Answer ? (answer.status ?? route?.success ?? 200) : (route?.success ?? 200)
    options.observe(route, status, (performance.now() - started) / 1000)
    cutSlowReader(reply)
    return send(reply, request.id, request.method, answer, status, gate.draining)
  }

  return { app, listen: (host, port) => app.listen({ host, port }), stopAccepting: () => gate.drain(app) }
}

/** The pipeline of one request, in the order of protocol/core 3. The first failing check decides the answer. */
async function serve<Context>(
  binding: Binding<Context>,
  request: FastifyRequest,
  options: ServerOptions<Context>,
  gate: Gatekeeper,
): Promise<HandlerAnswer> {
  const { route } = binding
  checkRawRequest(request.raw)
  const { path, query } = readTarget(request.raw.url ?? '')
  const headers = toRequestHeaders(request.raw.rawHeaders)
  const bytes = await readBodyBytes(request.raw, bodyLimit(route, options.maxRequestBytes), gate)
  const opened: Omit<Call, 'body'> = {
    requestId: request.id,
    routeId: route.id,
    method: request.method,
    path,
    params: namedParams(request.params as Record<string, string>, route),
    query,
    headers,
    remoteAddress: clientAddress(
      request.raw.socket.remoteAddress ?? '',
      headers.all('x-forwarded-for').join(',') || undefined,
      options.proxyHops,
    ),
    get origin() {
      return originOf(request.raw, headers.all.bind(headers), options.proxyHops)
    },
  }
  // A place is taken once the body is here: whoever withholds it keeps nobody else out.
  const exempt = route.limit === 'none'
  if (!gate.enter(exempt)) throw new Refusal('service_unavailable')
  try {
    await options.guard.limit(opened, route)
    const body = readBody(bytes, headers, route)
    const call = await options.guard.authorize(Object.assign(opened, { body }), route)
    return await withinDeadline(binding.handle(call, options.context), route)
  } finally {
    gate.leave(exempt)
  }
}

/** An answer nobody takes is given up: it would hold its bytes and its connection for ever. */
function cutSlowReader(reply: FastifyReply): void {
  reply.raw.setTimeout(SERVER_LIMITS.answerIdleSeconds * 1000, () => reply.raw.destroy())
}

/** A handler that hangs must not keep its caller and its place for ever; what it was doing may still finish. */
async function withinDeadline(work: Promise<HandlerAnswer> | HandlerAnswer, route: Route): Promise<HandlerAnswer> {
  if (!(work instanceof Promise)) return work
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    // A write may still be committed: the caller must look before repeating.
    () => late.reject(new Refusal('service_unavailable', route.method === 'GET' ? {} : { outcome: 'unknown' })),
    SERVER_LIMITS.handlerDeadlineSeconds * 1000,
  )
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function answerUnrouted(request: FastifyRequest, served: readonly Route[]): HandlerAnswer {
  checkRawRequest(request.raw)
  const target = request.raw.url ?? ''
  readTarget(target)
  const methods = allowedMethods(served, target.split('?', 1)[0] ?? '')
  if (methods.length === 0) throw new Refusal('not_found')
  const allow = { Allow: methods.join(', ') }
  if (request.method === 'OPTIONS') return new Answer('', '', 204, allow)
  const refused = toErrorAnswer(new Refusal('method_not_allowed'), request.id)
  return new Answer(refused.body, refused.contentType, refused.status, allow)
}

function send(
  reply: FastifyReply,
  requestId: string,
  method: string,
  answer: HandlerAnswer,
  status: number,
  closing: boolean,
): FastifyReply {
  reply.headers({ ...SECURITY_HEADERS, [REQUEST_ID_HEADER]: requestId })
  if (closing) reply.header('Connection', 'close')
  if (answer instanceof KeptDocument) return sendKept(reply, method, answer)
  const { body, contentType, headers } = answer instanceof Answer ? answer : json(answer)
  reply.code(status).headers(headers)
  if (contentType !== '') reply.header('Content-Type', contentType)
  return finish(reply, method, body)
}

function sendKept(reply: FastifyReply, method: string, document: KeptDocument): FastifyReply {
  reply.headers({ ETag: document.etag, 'Cache-Control': document.cacheControl })
  if (isNotModified(reply.request.headers['if-none-match'], document.etag)) return reply.code(304).send()
  reply.code(200).header('Content-Type', document.contentType)
  return finish(reply, method, document.bytes)
}

function finish(reply: FastifyReply, method: string, body: string | Uint8Array): FastifyReply {
  if (body.length === 0) return reply.send()
  // HEAD has the headers of its GET, length included, and no body.
  if (method === 'HEAD') return reply.header('Content-Length', Buffer.byteLength(body)).send()
  // Always bytes: the framework would add a charset to the content type of a string, and HEAD would differ.
  return reply.send(
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  )
}

function bodyLimit(route: Route, maxRequestBytes: number): number {
  if (route.bodyLimit === 'node') return Math.min(LIMITS.nodeBodyBytes, maxRequestBytes)
  return route.bodyLimit === 'feed' ? maxRequestBytes * LIMITS.feedBodyFactor : maxRequestBytes
}

function toFrameworkPath(route: Route): string {
  const path = route.path.replaceAll(/\{([a-z_]+)\}/g, ':$1')
  return route.tail === true ? path.replace(/:[a-z_]+$/, '*') : path
}

function namedParams(params: Record<string, string>, route: Route): Record<string, string> {
  const tail = params['*']
  return tail === undefined ? params : { ...params, [route.params.at(-1) ?? 'tail']: tail }
}

function originOf(request: IncomingMessage, all: (name: string) => readonly string[], hops: number): string {
  const forwarded = (name: string): string | undefined =>
    hops > 0 ? all(name).join(',').split(',').at(-hops)?.trim() || undefined : undefined
  const scheme = forwarded('x-forwarded-proto') === 'https' || 'encrypted' in request.socket ? 'https' : 'http'
  const host = forwarded('x-forwarded-host') ?? request.headers.host ?? ''
  return `${scheme}://${host}`
}

const requestCounts = new WeakMap<object, number>()

/** How many requests a connection has carried. Node's own limit would answer the next one outside the envelope. */
function requestsOn(socket: object): number {
  const count = (requestCounts.get(socket) ?? 0) + 1
  requestCounts.set(socket, count)
  return count
}
