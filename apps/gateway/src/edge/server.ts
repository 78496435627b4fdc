import type { AddressInfo } from 'node:net'
import { GATEWAY_ERRORS, GATEWAY_HEADERS, GatewayRefusal } from '@chancery/contract'
import { AccessLog, Capacity, Edge, type EdgeOptions, type Ids } from '@chancery/service-kit'
import { instanceOf } from '../audit/request-audit.ts'
import type { TlsMaterial } from '../policy/tls-files.ts'
import type { EdgeParts } from './admit-caller.ts'
import type { GatewayBinding, GatewayPool } from './call.ts'
import { ClientTls } from './client-tls.ts'
import { responseFor, toRefusal } from './error-body.ts'
import { GatewayPipeline } from './pipeline.ts'

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
const EDGE_LIMITS = {
  headBytes: 32_768,
  // The deadline of a request limits its body. This limit is for connections on which no request arrives.
  requestTimeoutMs: 305_000,
  requestsPerConnection: 1000,
  // An ingress may use all connections, but loses one to another address. Slots limit the requests.
  connections: CONNECTIONS,
  connectionsPerAddress: CONNECTIONS,
}
/** Half of the connections, so that withheld bodies leave connections for other requests. */
const BODIES_AT_ONCE = CONNECTIONS / 2
/** Memory for all bodies together: a few of the largest, or many small ones. */
const BODY_BUDGET_FACTOR = 16
const MIN_BODY_BUDGET = 67_108_864

/** What differs between the listeners of the gateway. */
type ListenerOptions = Pick<
  EdgeOptions<GatewayBinding>,
  'bindings' | 'fixedHeaders' | 'serve' | 'toFailure' | 'observe' | 'isProbe'
>

/** One HTTP listener of the gateway: for its callers, or for the reverse proxies that ask it. */
export class GatewayListener {
  readonly #edge: Edge<GatewayBinding>
  /** Set for a mutual TLS listener only. */
  readonly #tls: ClientTls | undefined

  constructor(
    parts: Pick<EdgeParts, 'settings' | 'clock' | 'ids' | 'log'>,
    tls: TlsMaterial | undefined,
    options: ListenerOptions,
  ) {
    const { settings, clock, log } = parts
    const ids = new RequestIds(parts.ids)
    this.#tls = tls === undefined ? undefined : new ClientTls(tls, settings.tlsMin)
    this.#edge = new Edge<GatewayBinding>({
      ...options,
      spelling: 'exact',
      // HEAD is for public reads only (protocol/gateway 5.2).
      servesHead: (binding) => 'open' in binding,
      limits: EDGE_LIMITS,
      tls: this.#tls?.edge,
      log,
      access: new AccessLog({ log, instance: ids.instance, every: settings.accessLogEvery }),
      monotonicMs: () => clock.monotonicMs(),
      nextRequestId: () => ids.next(),
      successOf: () => 200,
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return this.#edge.listen(host, port)
  }

  methodsOf(target: string): string[] {
    return this.#edge.methodsOf(target)
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
}

/** Creates the listener for callers: one pipeline for every route, and one error body. */
export function createGatewayListener(
  parts: EdgeParts,
  bindings: readonly GatewayBinding[],
  tls: TlsMaterial | undefined,
): GatewayListener {
  for (const binding of bindings) {
    // An `open` handler on a route with a credential would serve unauthenticated callers.
    const { credential } = binding.route
    if ('open' in binding !== (credential === 'none') || 'node' in binding !== (credential === 'node'))
      throw new Error(`${binding.route.path} is bound to the wrong kind of handler`)
  }
  const { settings, metrics } = parts
  const bodyBytes = Math.max(MIN_BODY_BUDGET, settings.maxBodyBytes * BODY_BUDGET_FACTOR)
  const slots = new Capacity<GatewayPool>({ requests: settings.maxInflight, bodies: BODIES_AT_ONCE, bodyBytes }, 2)
  const listener: GatewayListener = new GatewayListener(parts, tls, {
    bindings,
    fixedHeaders: GATEWAY_HEADERS,
    serve: (exchange) => new GatewayPipeline(exchange, parts, slots, (target) => listener.methodsOf(target)).run(),
    toFailure: (error, requestId) => {
      const refusal = toRefusal(error) ?? new GatewayRefusal('internal')
      const response = responseFor(error, requestId, parts.log)
      return { response, code: GATEWAY_ERRORS[refusal.error].reason, cause: refusal.cause ?? error }
    },
    observe: (_route, status, seconds) => {
      metrics.requests.increase()
      if (status >= GATEWAY_ERRORS.internal.status) metrics.failures.increase()
      metrics.duration.observe(seconds)
    },
    isProbe: ({ admission }) => admission === 'exempt',
  })
  return listener
}
