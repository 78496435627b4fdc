import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import { ERRORS, LIMITS, Refusal, SECURITY_HEADERS, SERVER_LIMITS } from '@chancery/contract'
import type { BudgetName, RefusalCode, Route } from '@chancery/contract'
import type { Ids } from '../ids.ts'
import type { Log } from '../log/log.ts'
import type { AccessLog } from './access-log.ts'
import { HttpResponse } from './answer.ts'
import type { Binding, HandlerResult } from './bind.ts'
import type { Call } from './call.ts'
import type { MaybePromise } from '../async/maybe-promise.ts'
import { BodyBudgets, bodyBudgetLimits } from './body-budget.ts'
import type { BodyBudgetLimits } from './body-budget.ts'
import { Edge } from './edge.ts'
import { toErrorResponse } from './error-envelope.ts'
import type { Exchange, Failure } from './exchange.ts'
import { GzipCopies } from './gzip-copies.ts'
import { urlOf } from './listener.ts'
import { LongWork } from './long-work.ts'
import { RequestPipeline } from './pipeline.ts'
import type { Capacity, PipelineOptions } from './pipeline.ts'
import { checkRawRequest } from './raw-request.ts'
import { requestIdOf } from './request-id.ts'
import type { EdgeBinding } from './router.ts'
import { readTarget } from './target.ts'
import { Verifications, Withdrawals } from './verifications.ts'

export interface ServerOptions<Context> extends PipelineOptions {
  readonly context: Context
  readonly bindings: readonly Binding<Context>[]
  readonly ids: Ids
  readonly log: Log
  /** Room for bodies; by default as much as `maxRequestBytes` needs. */
  readonly bodyRooms?: BodyBudgetLimits
  /** The code for paths below a prefix that no route serves; everywhere else it is `not_found`. */
  readonly missing?: { readonly prefix: string; readonly code: RefusalCode }
  /** Turns errors of the service's own infrastructure into the refusal they mean; undefined for bugs. */
  readonly translate: (error: unknown) => Refusal | undefined
  /** Called once for each response, for metrics. */
  readonly observe: (route: Route | undefined, status: number, seconds: number) => void
  /** One line for each request; none when absent. */
  readonly access?: AccessLog
}

/** What a server is working on. All of it is zero when no request is open. */
export interface ServerLoad {
  readonly inFlight: number
  readonly verifications: number
  readonly connections: number
  readonly bodyBytes: Readonly<Record<BudgetName, number>>
}

export interface HttpServer {
  readonly listener: Server
  load(): ServerLoad
  /** Returns its URL. */
  listen(host: string, port: number): Promise<string>
  /** From now on every response ends its connection: callers go elsewhere before the listener is closed. */
  stopKeeping(): void
  /** Stops listening, lets requests in flight finish, then closes idle connections. */
  stopAccepting(): Promise<void>
}

/** Creates the server of a service whose routes are in the contract's table: one pipeline, one error envelope. */
export function createServer<Context>(options: ServerOptions<Context>): HttpServer {
  const { ids } = options
  const verifications = new Verifications()
  const withdrawals = new Withdrawals()
  const rooms = new BodyBudgets(options.bodyRooms ?? bodyBudgetLimits(options.maxRequestBytes))
  const edge: Edge<Binding<Context>> = new Edge({
    bindings: options.bindings,
    spelling: 'decoded',
    servesHead: () => true,
    limits: {
      headBytes: LIMITS.requestHeadBytes,
      requestTimeoutMs: SERVER_LIMITS.requestTimeoutSeconds * 1000,
      requestsPerConnection: SERVER_LIMITS.requestsPerConnection,
      inFlight: SERVER_LIMITS.inFlightRequests,
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
      const handle = (call: Call): MaybePromise<HandlerResult> => binding.handle(call, options.context)
      return new RequestPipeline(options, capacity, exchange, { route: binding.route, handle, params }).run()
    },
    toFailure: (error, requestId, route) => toFailure(error, requestId, route, options),
    observe: options.observe,
    isProbe: ({ limit }) => limit === 'none',
    successOf: (route) => route?.success ?? 200,
  })
  const { gate } = edge
  const capacity: Capacity = {
    gate,
    verifications,
    withdrawals,
    rooms,
    longWork: new LongWork(),
    copies: new GzipCopies(),
  }
  return {
    listener: edge.listener,
    load: () => ({
      inFlight: gate.inFlight + verifications.taken + withdrawals.taken,
      connections: gate.connections,
      verifications: verifications.taken,
      bodyBytes: rooms.held,
    }),
    listen: (host, port) => edge.listen(host, port).then((address: AddressInfo) => urlOf(address)),
    stopKeeping: () => edge.stopKeeping(),
    stopAccepting: () => edge.stopAccepting(),
  }
}

function respondUnrouted(
  exchange: Pick<Exchange<EdgeBinding>, 'raw' | 'requestId' | 'code'>,
  methods: readonly string[],
  missing: ServerOptions<unknown>['missing'],
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
  { log, translate }: Pick<ServerOptions<never>, 'log' | 'translate'>,
): Failure {
  const refusal = error instanceof Refusal ? error : translate(error)
  const code = refusal?.code ?? 'internal_server_error'
  const cause = refusal === error ? (refusal?.cause ?? error) : error
  const about = { request_id: requestId, route: route?.id ?? 'none', error }
  if (refusal === undefined) log.error('unexpected error', about)
  // A request that callers can make fail is not logged as a failure: they must not fill the log.
  else if (ERRORS[refusal.code].status >= 500 && (refusal !== error || refusal.cause !== undefined))
    log.warn('infrastructure failed', { ...about, error: refusal === error ? refusal.cause : error })
  return { response: toErrorResponse(refusal ?? error, requestId, route), code, cause }
}
