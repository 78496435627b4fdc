import type { GatewayRoute } from '@chancery/contract'
import { andThen, checkCoding, withFinally, hasBody, readBodyBytes, readTraceParent } from '@chancery/service-kit'
import type { Exchange, RequestHeaders, MaybePromise, RouteMatch, TraceParent } from '@chancery/service-kit'
import type { AuditContext } from '../audit/request-audit.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { ClientCall, GatewayBinding, GatewayCall } from './admit-caller.ts'
import type { Deadline } from './deadline.ts'
import type { CallerSlots } from './request-slots.ts'

type Bound = GatewayBinding

/** Inputs of a call after its route is found. */
export interface IncomingRequest {
  readonly exchange: Pick<Exchange<Bound>, 'raw' | 'requestId' | 'requestBody'>
  readonly match: RouteMatch<Bound>
  readonly deadline: Deadline
  readonly headers: RequestHeaders
  readonly trust: TrustSnapshot | undefined
  readonly maxBodyBytes: number
}

/** An open call. Everything except the body is available from the start. */
export class RequestCall implements GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  readonly traceParent: TraceParent | undefined
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly trust: TrustSnapshot | undefined
  readonly context: AuditContext = {}
  protected readonly arrival: IncomingRequest

  constructor(arrival: IncomingRequest) {
    const { match, exchange } = arrival
    this.requestId = exchange.requestId
    this.route = match.binding.route
    this.headers = arrival.headers
    this.traceParent = readTraceParent(arrival.headers.all('traceparent'))
    this.params = match.params
    this.query = queryOf(exchange.raw.url ?? '')
    this.trust = arrival.trust
    this.arrival = arrival
  }

  /** Public routes have no body. A sent body is not read. */
  readBytes(): MaybePromise<Uint8Array> {
    throw new Error('a public route reads no body')
  }

  readBody(): MaybePromise<Uint8Array> {
    return andThen(this.readBytes(), (bytes) => {
      checkCoding(this.headers)
      return bytes
    })
  }

  remainingMs(): number {
    return this.arrival.deadline.remainingMs
  }

  checkDeadline(): void {
    this.arrival.deadline.check()
  }

  setOutcomeUncertain(isUncertain: boolean): void {
    this.arrival.deadline.isOutcomeUncertain = isUncertain
  }
}

/** A call of an authenticated client. */
export class OpenClientCall extends RequestCall implements ClientCall {
  readonly client: ClientPolicy
  readonly #slots: CallerSlots

  constructor(arrival: IncomingRequest, client: ClientPolicy, slots: CallerSlots) {
    super(arrival)
    this.client = client
    this.#slots = slots
  }

  /** Takes the slot when the body has arrived, so that a withheld body uses none. */
  override readBytes(): MaybePromise<Uint8Array> {
    const slots = this.#slots
    const { exchange, maxBodyBytes, deadline } = this.arrival
    const request = exchange.raw
    if (!hasBody(request)) return readBodyBytes(request, maxBodyBytes, slots)
    slots.openBody()
    exchange.requestBody()
    const read = withFinally(
      () => readBodyBytes(request, maxBodyBytes, slots),
      () => slots.closeBody(),
    )
    return andThen(read, (bytes) => {
      // After the deadline the caller has its refusal, so a late body must have no effect.
      deadline.check()
      slots.enter()
      return bytes
    })
  }
}

/** Returns what follows the question mark of a target, as sent. */
function queryOf(target: string): string {
  const cut = target.indexOf('?')
  return cut < 0 ? '' : target.slice(cut + 1)
}
