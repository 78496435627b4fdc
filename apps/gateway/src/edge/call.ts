import { GatewayRefusal, type GatewayRoute } from '@chancery/contract'
import { andThen, checkCoding, hasBody, readBodyBytes, readTraceParent, withFinally } from '@chancery/service-kit'
import type {
  Capacity,
  Exchange,
  HttpResponse,
  MaybePromise,
  RequestHeaders,
  RouteMatch,
  TraceParent,
} from '@chancery/service-kit'
import type { AuditContext } from '../audit/request-audit.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'

/**
 * A route of the contract's table and its handler: `open` for any caller, `client` for authenticated clients, `node` for
 * nodes, which the handler authenticates and audits itself.
 */
export type GatewayBinding =
  | { readonly route: GatewayRoute; readonly open: (call: GatewayCall) => MaybePromise<HttpResponse> }
  | { readonly route: GatewayRoute; readonly client: ClientHandler }
  | NodeBinding

export interface NodeBinding {
  readonly route: GatewayRoute
  readonly node: (call: NodeCall) => Promise<HttpResponse>
  /** Its error body. */
  readonly refuse: (thrown: unknown, requestId: string) => HttpResponse
}

export type ClientHandler = (call: ClientCall) => MaybePromise<HttpResponse>

/** Inputs of a call after its route is found. */
export interface IncomingRequest {
  readonly exchange: Pick<Exchange<GatewayBinding>, 'raw' | 'requestId' | 'requestBody' | 'startedMs'>
  readonly match: RouteMatch<GatewayBinding>
  readonly deadline: Deadline
  readonly headers: RequestHeaders
  readonly trust: TrustSnapshot | undefined
  readonly maxBodyBytes: number
}

/** One request for a handler. Everything except the body is available from the start. */
export class GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  /** The trace of the caller, when it names exactly one in the right form. */
  readonly traceParent: TraceParent | undefined
  /** Path parameters as sent, not decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query as sent, without the question mark. */
  readonly query: string
  /** The policy and lists at the start of this request. A reload does not change them. */
  readonly trust: TrustSnapshot | undefined
  /** Handlers add the fields that the audit stores. */
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

  /** Time left until the deadline. */
  remainingMs(): number {
    return this.arrival.deadline.remainingMs
  }

  /** Refuses after the deadline. Call it before every external effect. */
  checkDeadline(): void {
    this.arrival.deadline.check()
  }

  /** Sets whether a request was sent whose effect is not confirmed. A refusal at the deadline then reports it. */
  setOutcomeUncertain(isUncertain: boolean): void {
    this.arrival.deadline.isOutcomeUncertain = isUncertain
  }
}

/** A request with a body. Public routes have none: one that is sent is not read. */
class BodyCall extends GatewayCall {
  readonly #slots: CallerSlots

  constructor(arrival: IncomingRequest, slots: CallerSlots) {
    super(arrival)
    this.#slots = slots
  }

  /** Reads the whole body and refuses content types other than JSON. */
  readBody(): MaybePromise<Uint8Array> {
    return andThen(this.readBytes(), (bytes) => {
      checkCoding(this.headers)
      return bytes
    })
  }

  /**
   * Reads the whole body, up to the size limit. The slot is taken when the body has arrived, so that a withheld body
   * uses none.
   */
  readBytes(most = Number.POSITIVE_INFINITY): MaybePromise<Uint8Array> {
    const slots = this.#slots
    const { exchange, deadline } = this.arrival
    const maxBodyBytes = Math.min(most, this.arrival.maxBodyBytes)
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

/** A request of an authenticated client. */
export class ClientCall extends BodyCall {
  readonly client: ClientPolicy

  constructor(arrival: IncomingRequest, client: ClientPolicy, slots: CallerSlots) {
    super(arrival, slots)
    this.client = client
  }
}

/** A request of a node that is not authenticated yet. */
export class NodeCall extends BodyCall {
  readonly address: string
  readonly startedMs: number

  constructor(arrival: IncomingRequest, slots: CallerSlots) {
    super(arrival, slots)
    this.address = arrival.exchange.raw.socket.remoteAddress ?? ''
    this.startedMs = arrival.exchange.startedMs
  }

  get method(): string {
    return this.arrival.exchange.raw.method ?? ''
  }

  /** True after the caller has disconnected or its time is over. */
  isGone(): boolean {
    return this.arrival.exchange.raw.socket.destroyed || this.remainingMs() === 0
  }
}

/** Returns what follows the question mark of a target, as sent. */
function queryOf(target: string): string {
  const cut = target.indexOf('?')
  return cut < 0 ? '' : target.slice(cut + 1)
}

/** Running requests, requests whose bodies are being read, and the bytes of these bodies. */
export type GatewayPool = 'requests' | 'bodies' | 'bodyBytes'

/**
 * The slot of one request of a caller, and the budget of its body (protocol/gateway 5.1 step 4). A running request uses
 * a slot; an arriving body does not, so a caller that withholds its bodies delays no other caller. Each caller has a
 * share of every limit.
 */
export class CallerSlots {
  readonly #capacity: Capacity<GatewayPool>
  readonly #holder: string
  #isEntered = false

  constructor(capacity: Capacity<GatewayPool>, holder: string) {
    this.#capacity = capacity
    this.#holder = holder
  }

  /** Takes a slot. Refuses when the process is full or this caller has its share. */
  enter(): void {
    if (this.#isEntered) return
    if (!this.#capacity.take('requests', this.#holder)) throw new GatewayRefusal('overloaded')
    this.#isEntered = true
  }

  /** Releases the slot, if it was taken. */
  leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#capacity.give('requests', this.#holder)
  }

  openBody(): void {
    if (!this.#capacity.take('bodies', this.#holder)) throw new GatewayRefusal('overloaded')
  }

  closeBody(): void {
    this.#capacity.give('bodies', this.#holder)
  }

  reserveBytes(count: number): boolean {
    return this.#capacity.take('bodyBytes', this.#holder, count)
  }

  releaseBytes(count: number): void {
    if (count > 0) this.#capacity.give('bodyBytes', this.#holder, count)
  }
}

/**
 * The time limit of one request (protocol/gateway 5.1 step 5). A running step continues, but its caller does not wait,
 * and no further step with an external effect may start: see {@link Deadline.check}.
 */
export class Deadline {
  readonly #ms: number
  /** Set when a step waits for the first time; most steps do not wait. */
  #timer: NodeJS.Timeout | undefined
  /** Rejects the current step. */
  #giveUp: ((refusal: GatewayRefusal) => void) | undefined
  #isOver = false
  /** True when a request was sent whose effect is not confirmed. */
  isOutcomeUncertain = false
  readonly #endMs: number

  constructor(ms: number) {
    this.#ms = ms
    this.#endMs = performance.now() + ms
  }

  /** Limits one step. A synchronous step needs no timer. */
  within<Value>(work: MaybePromise<Value>): MaybePromise<Value> {
    if (!(work instanceof Promise)) return work
    this.#timer ??= setTimeout(() => this.#end(), this.#ms)
    return new Promise<Value>((resolve, reject) => {
      // Handles a late failure of abandoned work; a second rejection has no effect.
      work.then(resolve, reject)
      if (this.#isOver) reject(this.#refusal())
      else this.#giveUp = reject
    })
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  /** Refuses after the deadline. Called before a step with an effect, because the caller may have its 408 already. */
  check(): void {
    if (this.#isOver || this.remainingMs === 0) throw this.#refusal()
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #end(): void {
    this.#isOver = true
    this.#giveUp?.(this.#refusal())
  }

  #refusal(): GatewayRefusal {
    return new GatewayRefusal('deadline', undefined, { isOutcomeUncertain: this.isOutcomeUncertain })
  }
}
