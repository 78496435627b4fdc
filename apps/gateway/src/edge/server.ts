import type { AddressInfo } from 'node:net'
import { GATEWAY_ERRORS, GATEWAY_HEADERS, GatewayRefusal } from '@chancery/contract'
import { AccessLog, Edge, type Failure, type Ids } from '@chancery/service-kit'
import type { TlsMaterial } from '../policy/tls-files.ts'
import type { EdgeParts, GatewayBinding } from './admit-caller.ts'
import { ClientTls } from './client-tls.ts'
import { RequestSlots } from './request-slots.ts'
import { responseFor, toRefusal } from './deadline.ts'
import { GatewayPipeline } from './pipeline.ts'
import { instanceOf } from '../audit/request-audit.ts'

/**
 * Creates ids `<boot value>-<counter>`: never taken from the caller, unique across restarts, and sorted within one
 * (protocol/gateway 5.4).
 */
export class RequestIds {
  readonly #instance: string
  #count = 0

  constructor(ids: Ids) {
    this.#instance = ids.hex(32)
  }

  /** The prefix of every id of this process. */
  get instance(): string {
    return instanceOf(this.#instance)
  }

  next(): string {
    this.#count += 1
    return `${this.#instance}-${this.#count.toString(16).padStart(16, '0')}`
  }
}

const CONNECTIONS = 2000

/** protocol/gateway 3.2, listener hardening. */
export const EDGE_LIMITS = {
  headBytes: 32_768,
  // The deadline of a request limits its body. This limit is for connections on which no request arrives.
  requestTimeoutMs: 305_000,
  requestsPerConnection: 1000,
  // An ingress may use all connections, but loses one to another address. Slots limit the requests.
  connections: CONNECTIONS,
  connectionsPerAddress: CONNECTIONS,
  inFlight: 0,
}
/** Half of the connections, so that withheld bodies leave connections for other requests. */
const BODIES_AT_ONCE = CONNECTIONS / 2
/** Memory for all bodies together: a few of the largest, or many small ones. */
const BODY_BUDGET_FACTOR = 16
const MIN_BODY_BUDGET = 67_108_864

type Bound = GatewayBinding

/** The HTTP edge of the gateway: one pipeline for every route, and one error body. */
export class GatewayEdge {
  readonly #parts: EdgeParts
  readonly #slots: RequestSlots
  readonly #edge: Edge<Bound>
  /** Set for a mutual TLS listener only. */
  readonly #tls: ClientTls | undefined

  constructor(parts: EdgeParts, bindings: readonly Bound[], tls: TlsMaterial | undefined) {
    for (const binding of bindings) {
      // An `open` handler on a route with a credential would serve unauthenticated callers.
      if ('open' in binding !== (binding.route.credential === 'none'))
        throw new Error(`${binding.route.path} is bound to the wrong kind of handler`)
    }
    this.#parts = parts
    const ids = new RequestIds(parts.ids)
    const { maxInflight, maxBodyBytes, accessLogEvery: every } = parts.settings
    this.#slots = new RequestSlots({
      requests: maxInflight,
      bodies: BODIES_AT_ONCE,
      bodyBytes: Math.max(MIN_BODY_BUDGET, maxBodyBytes * BODY_BUDGET_FACTOR),
    })
    this.#tls = tls === undefined ? undefined : new ClientTls(tls, parts.settings.tlsMin)
    this.#edge = new Edge<Bound>({
      bindings,
      spelling: 'exact',
      // HEAD is for public reads only (protocol/gateway 5.2).
      servesHead: (binding) => 'open' in binding,
      limits: EDGE_LIMITS,
      tls: this.#tls?.edge,
      fixedHeaders: GATEWAY_HEADERS,
      log: parts.log,
      access: new AccessLog({ log: parts.log, instance: ids.instance, every }),
      monotonicMs: () => parts.clock.monotonicMs(),
      nextRequestId: () => ids.next(),
      serve: (exchange) =>
        new GatewayPipeline(exchange, parts, this.#slots, (target) => this.#edge.methodsOf(target)).run(),
      toFailure: (error, requestId) => this.#toFailure(error, requestId),
      observe: (_route, status, seconds) => this.#observe(status, seconds),
      isProbe: ({ admission }) => admission === 'exempt',
      successOf: () => 200,
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return this.#edge.listen(host, port)
  }

  /** Uses new TLS material for new connections. Open ones continue only under the new client authorities. */
  replaceTls(tls: TlsMaterial): void {
    if (this.#tls !== undefined) this.#edge.replaceTls(this.#tls.replace(tls))
  }

  /** Makes every response end its connection, so that callers use another replica before the listener is closed. */
  stopKeepAlive(): void {
    this.#edge.stopKeepAlive()
  }

  stopAccepting(): Promise<void> {
    return this.#edge.stopAccepting()
  }

  #toFailure(error: unknown, requestId: string): Failure {
    const refusal = toRefusal(error) ?? new GatewayRefusal('internal')
    const response = responseFor(error, requestId, this.#parts.log)
    return { response, code: GATEWAY_ERRORS[refusal.error].reason, cause: refusal.cause ?? error }
  }

  #observe(status: number, seconds: number): void {
    const { requests, failures, duration } = this.#parts.metrics
    requests.increase()
    if (status >= GATEWAY_ERRORS.internal.status) failures.increase()
    duration.observe(seconds)
  }
}
