import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { REQUEST_ID_HEADER, type Refusal } from '@chancery/contract'
import type { MaybePromise } from '../async/steps.ts'
import type { Log } from '../log/log.ts'
import { inRequestSpan, isTracing } from '../tracing/spans.ts'
import type { AccessLog } from './access-log.ts'
import { type ConnectionLimits, Connections } from './connections.ts'
import { type HandlerResult, HttpResponse } from './response.ts'
import { Exchange, type ExchangeEnd, type Failure } from './exchange.ts'
import { type ListenerLimits, createListener, startListening } from './listener.ts'
import { type EdgeBinding, Router } from './router.ts'
import { type Closing, Sender } from './send.ts'

export interface EdgeLimits extends ListenerLimits, ConnectionLimits {
  readonly requestsPerConnection: number
}

export interface EdgeTls {
  readonly context: SecureContextOptions
  readonly onSecure: (socket: TLSSocket) => void
  /** True when a connection may carry no further request. */
  readonly isRevoked: (socket: Socket) => boolean
}

/** Settings of an edge that differ between services. */
export interface EdgeOptions<Binding extends EdgeBinding> {
  readonly bindings: readonly Binding[]
  /** `exact`: a path is matched as sent. `decoded`: other spellings of its segments reach the same route. */
  readonly spelling: 'exact' | 'decoded'
  readonly servesHead: (binding: Binding) => boolean
  readonly limits: EdgeLimits
  readonly tls?: EdgeTls | undefined
  /** Headers of every response. A response's own header of the same name replaces it. */
  readonly fixedHeaders: Readonly<Record<string, string>>
  readonly log: Log
  readonly access?: AccessLog | undefined
  readonly monotonicMs: () => number
  /** Called without a request when the request could not be parsed. */
  readonly nextRequestId: (raw?: IncomingMessage) => string
  /** The service's steps, in the order of its protocol text. Refuses by throwing. */
  readonly serve: (exchange: Exchange<Binding>) => MaybePromise<HandlerResult>
  readonly toFailure: (error: unknown, requestId: string, route?: Binding['route']) => Failure
  /** Called once for each response, for metrics. */
  readonly observe: (route: Binding['route'] | undefined, status: number, seconds: number) => void
  /** True for health routes, which are called every few seconds. */
  readonly isProbe: (route: Binding['route']) => boolean
  /** Returns the status for a result without one. */
  readonly successOf: (route: Binding['route'] | undefined) => number
}

/** The HTTP edge of a service. It parses strictly, and handles all requests and all failures in one way. */
export class Edge<Binding extends EdgeBinding> {
  readonly connections: Connections
  readonly listener: Server | SecureServer
  readonly #options: EdgeOptions<Binding>
  readonly #router: Router<Binding>
  readonly #sender: Sender
  readonly #ends: ExchangeEnd<Binding>
  #others: readonly TcpServer[] = []

  constructor(options: EdgeOptions<Binding>) {
    const { bindings, spelling, servesHead, limits } = options
    this.#options = options
    this.#router = new Router(bindings, { isExact: spelling === 'exact', servesHead, maxLength: limits.headBytes })
    this.#sender = new Sender(options.fixedHeaders)
    this.#ends = {
      fail: (error, { requestId, match }) => options.toFailure(error, requestId, match?.binding.route),
      finish: (exchange, result, closing) => this.#finish(exchange, result, closing),
    }
    this.connections = new Connections(limits)
    this.listener = createListener({
      connections: this.connections,
      limits,
      tls: options.tls,
      serve: (request, response) => this.#serve(request, response),
      toBroken: (refusal) => this.#toBroken(refusal),
    })
  }

  async listen(host: string, port: number): Promise<AddressInfo> {
    const { address, others } = await startListening(this.listener, host, port)
    this.#others = others
    return address
  }

  /** Uses other TLS material for connections from now on. */
  replaceTls(context: SecureContextOptions): void {
    if ('setSecureContext' in this.listener) this.listener.setSecureContext(context)
  }

  /** Returns the methods that the path of a target takes, sorted. */
  methodsOf(target: string): string[] {
    return this.#router.methodsOf(target)
  }

  /**
   * Ends open streams and makes every response end its connection, so that callers use another instance before the
   * listener is closed.
   */
  stopKeepAlive(): void {
    this.connections.stopKeepAlive()
    this.#sender.streams.stop()
  }

  /** Responses that stay open. They use no slot. */
  get streams(): number {
    return this.#sender.streams.size
  }

  /** Stops listening, finishes open requests, then closes idle connections. */
  stopAccepting(): Promise<void> {
    this.stopKeepAlive()
    for (const other of this.#others) other.close()
    return this.connections.drain(this.listener)
  }

  #serve(raw: IncomingMessage, response: ServerResponse): void {
    const { tls, limits, monotonicMs } = this.#options
    if (tls?.isRevoked(raw.socket) === true) {
      raw.socket.destroy()
      return
    }
    const match = this.#router.find(raw.method ?? '', raw.url ?? '')
    const requestId = this.#options.nextRequestId(raw)
    const isLast = this.connections.begin(raw.socket) >= limits.requestsPerConnection
    const exchange = new Exchange({ raw, response, requestId, match, startedMs: monotonicMs(), isLast }, this.#ends)
    if (!isTracing || match === undefined) return this.#run(exchange)
    const { method = '', rawHeaders } = raw
    inRequestSpan({ route: match.binding.route.path, method, requestId, rawHeaders }, (span) => {
      exchange.span = span
      this.#run(exchange)
    })
  }

  #run(exchange: Exchange<Binding>): void {
    let result: MaybePromise<HandlerResult>
    try {
      result = this.#options.serve(exchange)
    } catch (error) {
      exchange.fail(error)
      return
    }
    if (!(result instanceof Promise)) return exchange.respond(result)
    void result.then(
      (given) => exchange.respond(given),
      (error: unknown) => exchange.fail(error),
    )
  }

  #finish(exchange: Exchange<Binding>, result: HandlerResult, closing: Closing | undefined): void {
    const { monotonicMs, observe, successOf } = this.#options
    const route = exchange.match?.binding.route
    const status = (result instanceof HttpResponse ? result.status : undefined) ?? successOf(route)
    const milliseconds = monotonicMs() - exchange.startedMs
    observe(route, status, milliseconds / 1000)
    if (!exchange.isLogged) this.#log(exchange, status, milliseconds)
    exchange.span?.end(status)
    const isLast = exchange.isLast || this.connections.isDraining
    this.#send(exchange, result, status, closing ?? (isLast ? 'now' : undefined))
  }

  #send(exchange: Exchange<Binding>, result: HandlerResult, status: number, closing: Closing | undefined): void {
    const { raw, response, requestId, echoedId, gzip } = exchange
    const { socket } = raw
    try {
      // A connection whose remaining body is being dropped is not idle yet.
      if (closing === 'after-rest' && !response.destroyed) response.once('close', () => this.connections.end(socket))
      else this.connections.end(socket)
      this.#sender.send(response, result, { requestId, echoedId, status, closing, gzip })
    } catch (error) {
      // A part of the response may be sent. Destroying the connection shows the caller that it is incomplete.
      this.#options.log.error('response not sent', { request_id: requestId, error })
      response.destroy()
    }
  }

  #log(exchange: Exchange<Binding>, status: number, milliseconds: number): void {
    const { requestId, match, caller, clientAddress, traceId, code, cause } = exchange
    const route = match?.binding.route
    this.#options.access?.note({
      requestId,
      route: route === undefined ? 'none' : `${route.method} ${route.path}`,
      status,
      milliseconds,
      caller,
      clientAddress,
      traceId,
      code,
      cause,
      isProbe: route !== undefined && this.#options.isProbe(route),
    })
  }

  #toBroken(refusal: Refusal): HttpResponse {
    const { fixedHeaders, nextRequestId, toFailure, access } = this.#options
    const requestId = nextRequestId()
    const { response, code, cause } = toFailure(refusal, requestId)
    const { body, contentType, status = 400, headers } = response
    const line = { requestId, route: 'none', status, milliseconds: 0, caller: 'anonymous', code, cause }
    access?.note({ ...line, isProbe: false })
    return new HttpResponse(body, contentType, status, { ...fixedHeaders, ...headers, [REQUEST_ID_HEADER]: requestId })
  }
}
