import type { GatewayRoute } from '@chancery/contract'
import { after, checkCoding, withFinally, hasBody, readBodyBytes } from '@chancery/service-kit'
import type { Exchange, RequestHeaders, MaybePromise, RouteMatch } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { ClientCall, GatewayBinding, GatewayCall } from './call.ts'
import type { Deadline } from './deadline.ts'
import type { CallerPlaces } from './connection-slots.ts'

type Bound = GatewayBinding

/** What the edge has of a request when its route is found. */
export interface IncomingRequest {
  readonly exchange: Pick<Exchange<Bound>, 'raw' | 'requestId' | 'requestBody'>
  readonly match: RouteMatch<Bound>
  readonly deadline: Deadline
  readonly headers: RequestHeaders
  readonly trust: TrustSnapshot | undefined
  readonly maxBodyBytes: number
}

/** A call under way: all of it but the body is there from the start. */
export class RequestCall implements GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
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
    this.params = match.params
    this.query = queryOf(exchange.raw.url ?? '')
    this.trust = arrival.trust
    this.arrival = arrival
  }

  /** Routes that anyone may call take no body: whatever is sent is not read. */
  readBytes(): MaybePromise<Uint8Array> {
    throw new Error('a route for anyone reads no body')
  }

  readBody(): MaybePromise<Uint8Array> {
    return after(this.readBytes(), (bytes) => {
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

/** The same once its caller is known. */
export class OpenClientCall extends RequestCall implements ClientCall {
  readonly client: ClientPolicy
  readonly #places: CallerPlaces

  constructor(arrival: IncomingRequest, client: ClientPolicy, places: CallerPlaces) {
    super(arrival)
    this.client = client
    this.#places = places
  }

  /** The work begins when the body is there: one that is withheld holds no place. */
  override readBytes(): MaybePromise<Uint8Array> {
    const places = this.#places
    const { exchange, maxBodyBytes, deadline } = this.arrival
    const request = exchange.raw
    if (!hasBody(request)) return readBodyBytes(request, maxBodyBytes, places)
    places.openBody()
    exchange.requestBody()
    const read = withFinally(
      () => readBodyBytes(request, maxBodyBytes, places),
      () => places.closeBody(),
    )
    return after(read, (bytes) => {
      // After the deadline the caller has its refusal: a body that arrives now must have no effect.
      deadline.check()
      places.enter()
      return bytes
    })
  }
}

/** Returns what follows the question mark of a target, as sent. */
function queryOf(target: string): string {
  const cut = target.indexOf('?')
  return cut < 0 ? '' : target.slice(cut + 1)
}
