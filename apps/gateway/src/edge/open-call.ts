import type { IncomingMessage } from 'node:http'
import type { GatewayRoute } from '@chancery/contract'
import { after, checkCoding, endingWith, hasBody, readBodyBytes } from '@chancery/service-kit'
import type { RequestHeaders, Soon } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { ClientCall, GatewayCall } from './call.ts'
import type { Deadline } from './deadline.ts'
import type { CallerPlaces } from './places.ts'
import type { RouteMatch } from './route-table.ts'

/** What the edge knows of a request when its route is found. */
export interface Arrival {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly match: RouteMatch
  readonly deadline: Deadline
  readonly headers: RequestHeaders
  readonly trust: TrustSnapshot | undefined
  readonly maxBodyBytes: number
}

/** A call under way: all of it but the body is there from the start. */
export class OpenCall implements GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly trust: TrustSnapshot | undefined
  readonly context: AuditContext = {}
  protected readonly arrival: Arrival

  constructor(arrival: Arrival) {
    const { match } = arrival
    this.requestId = arrival.requestId
    this.route = match.binding.route
    this.headers = arrival.headers
    this.params = match.params
    this.query = match.query
    this.trust = arrival.trust
    this.arrival = arrival
  }

  /** Routes that anyone may call take no body: whatever is sent is not read. */
  readBytes(): Soon<Uint8Array> {
    throw new Error('a route for anyone reads no body')
  }

  readBody(): Soon<Uint8Array> {
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
export class OpenClientCall extends OpenCall implements ClientCall {
  readonly client: ClientPolicy
  readonly #places: CallerPlaces

  constructor(arrival: Arrival, client: ClientPolicy, places: CallerPlaces) {
    super(arrival)
    this.client = client
    this.#places = places
  }

  /** The work begins when the body is there: one that is withheld holds no place. */
  override readBytes(): Soon<Uint8Array> {
    const places = this.#places
    const { request, maxBodyBytes, deadline } = this.arrival
    if (!hasBody(request)) return readBodyBytes(request, maxBodyBytes, places)
    places.openBody()
    const read = endingWith(
      () => readBodyBytes(request, maxBodyBytes, places),
      () => places.closeBody(),
    )
    return after(read, (bytes) => {
      // Its caller has been told that the time is over: nothing may come of a body that arrives now.
      deadline.check()
      places.enter()
      return bytes
    })
  }
}
