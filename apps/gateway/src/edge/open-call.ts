import type { IncomingMessage } from 'node:http'
import type { GatewayRoute } from '@chancery/contract'
import { after, checkCoding, readBodyBytes } from '@chancery/service-kit'
import type { Gatekeeper, RequestHeaders, Soon } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { ClientCall, GatewayCall } from './call.ts'
import type { Deadline } from './deadline.ts'
import type { RouteMatch } from './route-table.ts'

/** What the edge knows of a request when its route is found. */
export interface Arrival {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly match: RouteMatch
  readonly deadline: Deadline
  readonly headers: RequestHeaders
  readonly trust: TrustSnapshot | undefined
  readonly gate: Gatekeeper
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
  readonly #arrival: Arrival

  constructor(arrival: Arrival) {
    const { match } = arrival
    this.requestId = arrival.requestId
    this.route = match.binding.route
    this.headers = arrival.headers
    this.params = match.params
    this.query = match.query
    this.trust = arrival.trust
    this.#arrival = arrival
  }

  readBytes(): Soon<Uint8Array> {
    const { request, maxBodyBytes, gate } = this.#arrival
    return readBodyBytes(request, maxBodyBytes, gate)
  }

  readBody(): Soon<Uint8Array> {
    return after(this.readBytes(), (bytes) => {
      checkCoding(this.headers)
      return bytes
    })
  }

  remainingMs(): number {
    return this.#arrival.deadline.remainingMs
  }
}

/** The same once its caller is known. */
export class OpenClientCall extends OpenCall implements ClientCall {
  readonly client: ClientPolicy

  constructor(arrival: Arrival, client: ClientPolicy) {
    super(arrival)
    this.client = client
  }
}
