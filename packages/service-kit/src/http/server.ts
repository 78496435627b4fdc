import type { AddressInfo } from 'node:net'
import type { IncomingMessage, Server } from 'node:http'
import {
  CONTENT_TYPES,
  ERRORS,
  LIMITS,
  REQUEST_ID_PATTERN,
  RETRY_AFTER_SECONDS,
  Refusal,
  SECURITY_HEADERS,
  SERVER_LIMITS,
} from '@chancery/contract'
import type { BudgetName, ErrorCode, RefusalCode, Route } from '@chancery/contract'
import type { Ids } from '../system.ts'
import type { Log } from '../log/log.ts'
import type { AccessLog } from './access-log.ts'
import { type BodyBudgetLimits, BodyBudgets, bodyBudgetLimits } from './body-budget.ts'
import type { Binding } from './call.ts'
import { Capacity, LongWork, SERVER_POOLS } from './capacity.ts'
import { GzipCopies } from './compression.ts'
import { Edge } from './edge.ts'
import type { Exchange, Failure } from './exchange.ts'
import { urlOf } from './listener.ts'
import { type PipelineOptions, RequestPipeline } from './pipeline.ts'
import { checkRawRequest, readTarget } from './request-head.ts'
import { type HandlerResult, HttpResponse } from './response.ts'
import type { EdgeBinding } from './router.ts'
import { UnreadAnswers } from './unread-answers.ts'
import { writeJson } from '@chancery/protocol'

/** Creates the error response. An error that is not a refusal is a bug, and its text is not exposed. */
export function toErrorResponse(error: unknown, requestId: string, route?: Route): HttpResponse {
  const refusal = error instanceof Refusal ? error : new Refusal('internal_server_error')
  const status = statusOf(refusal.code, route)
  const body = writeJson({
    error: { code: refusal.code, message: refusal.message, details: refusal.details, request_id: requestId },
  })
  return new HttpResponse(body, CONTENT_TYPES.json, status, retryHeader(status, refusal.retryAfterSeconds))
}

export function statusOf(code: ErrorCode, route?: Route): number {
  return route?.statuses?.[code] ?? ERRORS[code].status
}

function retryHeader(status: number, seconds?: number): { readonly [name: string]: string } | undefined {
  if (status === 429) return { 'Retry-After': String(seconds ?? RETRY_AFTER_SECONDS) }
  return status === 503 ? { 'Retry-After': String(seconds ?? 1) } : undefined
}

export interface ServerOptions extends PipelineOptions {
  readonly bindings: readonly Binding[]
  readonly ids: Ids
  readonly log: Log
  /** Limits of the body budgets; derived from `maxRequestBytes` by default. */
  readonly bodyBudgets?: BodyBudgetLimits
  /** Memory of answers that are not read. */
  readonly unreadAnswerBytes?: number
  /** The code for unknown paths below a prefix. For other unknown paths it is `not_found`. */
  readonly missing?: { readonly prefix: string; readonly code: RefusalCode }
  /** Converts infrastructure errors of the service to a refusal; undefined for bugs. */
  readonly translate: (error: unknown) => Refusal | undefined
  /** Called once for each response, for metrics. */
  readonly observe: (route: Route | undefined, status: number, seconds: number) => void
  /** Without it, requests are not logged. */
  readonly access?: AccessLog
}

/** Current work of a server. All values are zero when no request is open. */
export interface ServerLoad {
  readonly inFlight: number
  readonly verifications: number
  readonly connections: number
  /** Responses that stay open. */
  readonly streams: number
  readonly bodyBytes: Readonly<Record<BudgetName, number>>
  /** Large answers that are not sent completely. */
  readonly unreadBytes: number
}

export interface HttpServer {
  readonly listener: Server
  load(): ServerLoad
  /** Returns its URL. */
  listen(host: string, port: number): Promise<string>
  /** Ends open streams and makes every response end its connection, so that callers use another instance. */
  stopKeepAlive(): void
  /** Stops listening, finishes open requests, then closes idle connections. */
  stopAccepting(): Promise<void>
}

/** Creates the server of a service whose routes are in the contract's table: one pipeline, one error envelope. */
export function createServer(options: ServerOptions): HttpServer {
  const { ids } = options
  const slots = new Capacity(SERVER_POOLS, 1)
  const budgets = new BodyBudgets(options.bodyBudgets ?? bodyBudgetLimits(options.maxRequestBytes))
  const unread = new UnreadAnswers(options.unreadAnswerBytes)
  const limits = { slots, budgets, unread, longWork: new LongWork(), copies: new GzipCopies() }
  const edge: Edge<Binding> = new Edge({
    bindings: options.bindings,
    spelling: 'decoded',
    servesHead: () => true,
    limits: {
      headBytes: LIMITS.requestHeadBytes,
      requestTimeoutMs: SERVER_LIMITS.requestTimeoutSeconds * 1000,
      requestsPerConnection: SERVER_LIMITS.requestsPerConnection,
      connections: SERVER_LIMITS.connections,
      connectionsPerAddress: options.proxyHops > 0 ? 0 : SERVER_LIMITS.connectionsPerAddress,
    },
    fixedHeaders: SECURITY_HEADERS,
    log: options.log,
    access: options.access,
    monotonicMs: () => performance.now(),
    nextRequestId: (raw) => (raw === undefined ? ids.uuid() : requestIdOf(raw, ids)),
    serve: (exchange) => {
      const { match, raw } = exchange
      if (match === undefined) return respondUnrouted(exchange, edge.methodsOf(raw.url ?? ''), options.missing)
      const { binding, params } = match
      return new RequestPipeline(options, limits, exchange, { ...binding, params }).run()
    },
    toFailure: (error, requestId, route) => toFailure(error, requestId, route, options),
    observe: options.observe,
    isProbe: ({ limit }) => limit === 'none',
    successOf: (route) => route?.success ?? 200,
  })
  return {
    listener: edge.listener,
    load: () => ({
      inFlight: slots.takenOfAll,
      connections: edge.connections.size,
      streams: edge.streams,
      verifications: slots.taken('verifications'),
      bodyBytes: budgets.reserved,
      unreadBytes: unread.bytes,
    }),
    listen: (host, port) => edge.listen(host, port).then((address: AddressInfo) => urlOf(address)),
    stopKeepAlive: () => edge.stopKeepAlive(),
    stopAccepting: () => edge.stopAccepting(),
  }
}

function respondUnrouted(
  exchange: Pick<Exchange<EdgeBinding>, 'raw' | 'requestId' | 'code'>,
  methods: readonly string[],
  missing: ServerOptions['missing'],
): HandlerResult {
  const { raw, requestId } = exchange
  checkRawRequest(raw)
  const { path } = readTarget(raw.url ?? '')
  if (methods.length === 0)
    throw new Refusal(missing !== undefined && path.startsWith(missing.prefix) ? missing.code : 'not_found')
  const allow = { Allow: [...methods, 'OPTIONS'].sort().join(', ') }
  if (raw.method === 'OPTIONS') return new HttpResponse('', '', 204, allow)
  exchange.code = 'method_not_allowed'
  const refused = toErrorResponse(new Refusal('method_not_allowed'), requestId)
  return new HttpResponse(refused.body, refused.contentType, refused.status, allow)
}

function toFailure(
  error: unknown,
  requestId: string,
  route: Route | undefined,
  { log, translate }: Pick<ServerOptions, 'log' | 'translate'>,
): Failure {
  const refusal = error instanceof Refusal ? error : translate(error)
  const code = refusal?.code ?? 'internal_server_error'
  const cause = refusal === error ? (refusal?.cause ?? error) : error
  const about = { request_id: requestId, route: route?.id ?? 'none', error }
  if (refusal === undefined) log.error('unexpected error', about)
  // A failure that callers can cause is not logged, so that they cannot fill the log.
  else if (ERRORS[refusal.code].status >= 500 && (refusal !== error || refusal.cause !== undefined))
    log.warn('infrastructure failed', { ...about, error: refusal === error ? refusal.cause : error })
  return { response: toErrorResponse(refusal ?? error, requestId, route), code, cause }
}

/**
 * Returns the caller's id when it has the allowed form, otherwise a new one, because the id is logged and shown on
 * pages.
 */
function requestIdOf(request: IncomingMessage, ids: Ids): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : ids.uuid()
}
