import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestSpan } from '../tracing/spans.ts'
import { MalformedRequestError, readTraceParent } from './request-head.ts'
import { hasBody } from './body.ts'
import type { RequestCall } from './call.ts'
import type { HandlerResult, HttpResponse } from './response.ts'
import type { EdgeBinding, RouteMatch } from './router.ts'
import type { Closing } from './send.ts'

/** The response of a service to an error. */
export interface Failure {
  readonly response: HttpResponse
  /** Shown in the access log. */
  readonly code: string
  readonly cause: unknown
}

/** Functions of the edge that an exchange uses. */
export interface ExchangeEnd<Binding extends EdgeBinding> {
  fail(error: unknown, exchange: Exchange<Binding>): Failure
  /** Measures, logs and sends the response. */
  finish(exchange: Exchange<Binding>, result: HandlerResult, closing: Closing | undefined): void
}

/** One request and its one response. The first response counts; later ones are dropped. */
export class Exchange<Binding extends EdgeBinding> {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Undefined when no route serves the request. */
  readonly match: RouteMatch<Binding> | undefined
  readonly startedMs: number
  /** True for the last request its connection may carry. */
  readonly isLast: boolean
  /** Sent as the request id. The own one is sent in a second header. */
  echoedId: string | undefined
  /** The kind of authenticated caller, for the access log. */
  caller = 'anonymous'
  /** Where it came from, and the trace it names; undefined for a request that was refused before they were read. */
  clientAddress: string | undefined
  traceId: string | undefined
  /** Why the request was refused or failed, for the access log. */
  code: string | undefined
  cause: unknown
  /** The compressed copy of a cached document, for a caller that accepts it. */
  gzip: Uint8Array | undefined
  /** True when the service has written the log line of this request itself. */
  isLogged = false
  span: RequestSpan | undefined
  /** Called once, before the response is sent. */
  onResponse: (() => void) | undefined
  readonly #end: ExchangeEnd<Binding>
  #isAnswered = false

  constructor(
    request: Pick<Exchange<Binding>, 'raw' | 'response' | 'requestId' | 'match' | 'startedMs' | 'isLast'>,
    end: ExchangeEnd<Binding>,
  ) {
    this.raw = request.raw
    this.response = request.response
    this.requestId = request.requestId
    this.match = request.match
    this.startedMs = request.startedMs
    this.isLast = request.isLast
    this.#end = end
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** Notes who sent the request, for the access log. */
  name({ caller, remoteAddress, headers }: RequestCall): void {
    this.caller = caller
    this.clientAddress = remoteAddress
    this.traceId = readTraceParent(headers.all('traceparent'))?.traceId
  }

  /** Sends 100 Continue to a caller that waits for it. A refusal before this avoids receiving the body. */
  requestBody(): void {
    if (this.raw.headers.expect !== undefined && this.raw.httpVersion === '1.1') this.response.writeContinue()
  }

  respond(result: HandlerResult, closing?: Closing): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    this.onResponse?.()
    // An unread body must not be parsed as the next request on this connection.
    const isUnread = hasBody(this.raw) && !this.raw.complete
    this.#end.finish(this, result, closing ?? (isUnread ? 'after-rest' : undefined))
  }

  fail(error: unknown): void {
    if (this.#isAnswered) return
    const { response, code, cause } = this.#end.fail(error, this)
    this.code = code
    this.cause = cause
    this.respond(response, error instanceof MalformedRequestError ? 'now' : undefined)
  }
}
