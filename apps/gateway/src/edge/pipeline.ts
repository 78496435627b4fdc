import { GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import {
  type Capacity,
  RawHeaders,
  checkRawRequest,
  hasBody,
  limitAddress,
  runSteps,
  toError,
  withFinally,
} from '@chancery/service-kit'
import type {
  Exchange,
  HttpResponse,
  MaybePromise,
  RequestHeaders,
  RouteMatch,
  Step,
  SteppedRequest,
} from '@chancery/service-kit'
import type { AuditedRequest } from '../audit/request-audit.ts'
import type { Caller } from '../auth/access.ts'
import { type EdgeParts, admitCaller, auditCaller } from './admit-caller.ts'
import { CallerSlots, ClientCall, Deadline, GatewayCall, NodeCall } from './call.ts'
import type { GatewayBinding, GatewayPool, IncomingRequest, NodeBinding } from './call.ts'
import { responseFor, toRefusal } from './error-body.ts'

/** Longest header field: a scheme and a token of 16 KiB. */
const MAX_FIELD_BYTES = 16_384 + 16

/** A request id that is safe in a header. */
const VISIBLE = /^[\x21-\x7e]{1,256}$/

/** A request of a client after steps 6 to 8. */
interface AdmittedRequest {
  readonly call: ClientCall
  readonly slots: CallerSlots
  readonly audited: AuditedRequest
}

/** Runs one request through the steps of protocol/gateway 5.1. The first step that refuses decides the response. */
export class GatewayPipeline implements SteppedRequest {
  /** The steps in their order. Public routes have no caller, so steps of the caller do nothing for them. */
  static readonly #STEPS: readonly Step<GatewayPipeline>[] = [
    (request) => request.#checkHead(),
    (request) => request.#checkRoute(),
    (request) => request.#checkBodySize(),
    (request) => request.#checkCapacity(),
    (request) => request.#awaitTrust(),
    (request) => request.#admitCaller(),
    (request) => request.#storeIntent(),
    (request) => request.#handle(),
    (request) => request.#storeCompletion(),
  ]

  readonly #exchange: Exchange<GatewayBinding>
  readonly #parts: EdgeParts
  readonly #slots: Capacity<GatewayPool>
  readonly #methodsOf: (target: string) => readonly string[]
  readonly #headers: RequestHeaders
  readonly #deadline: Deadline
  /** Undefined for public routes. */
  #admitted: AdmittedRequest | undefined
  #response: HttpResponse | undefined

  constructor(
    exchange: Exchange<GatewayBinding>,
    parts: EdgeParts,
    slots: Capacity<GatewayPool>,
    methodsOf: (target: string) => readonly string[],
  ) {
    this.#exchange = exchange
    this.#parts = parts
    this.#slots = slots
    this.#methodsOf = methodsOf
    this.#headers = new RawHeaders(exchange.raw.rawHeaders)
    this.#deadline = new Deadline(parts.settings.timeoutMs)
    const given = this.#headers.all('x-request-id')
    if (exchange.match?.binding.route.echoesRequestId === true && given.length === 1 && VISIBLE.test(given[0] ?? ''))
      exchange.echoedId = given[0]
  }

  run(): MaybePromise<HttpResponse> {
    return withFinally(
      () => this.#refuseInForm(() => runSteps(GatewayPipeline.#STEPS, this)),
      () => this.#deadline.clear(),
    )
  }

  /** A route for nodes has a separate error body, also for what an earlier step refuses. */
  #refuseInForm(work: () => MaybePromise<HttpResponse>): MaybePromise<HttpResponse> {
    const binding = this.#exchange.match?.binding
    if (binding === undefined || !('node' in binding)) return work()
    const refuse = (thrown: unknown): HttpResponse => binding.refuse(thrown, this.#exchange.requestId)
    try {
      const answer = work()
      return answer instanceof Promise ? answer.catch(refuse) : answer
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  get isAnswered(): boolean {
    return this.#exchange.isAnswered
  }

  get result(): HttpResponse {
    if (this.#response === undefined) throw new Error('the handler step sets the response')
    return this.#response
  }

  get #match(): RouteMatch<GatewayBinding> {
    const { match } = this.#exchange
    if (match === undefined) throw new Error('the route is checked by an earlier step')
    return match
  }

  #checkHead(): void {
    const { raw } = this.#exchange
    checkRawRequest(raw)
    if (raw.rawHeaders.some((text) => text.length > MAX_FIELD_BYTES)) throw new GatewayRefusal('headers_too_large')
    const target = raw.url ?? ''
    // Absolute form, authority form and fragments are refused.
    if (!target.startsWith('/') || target.includes('#')) throw new GatewayRefusal('malformed_request')
  }

  #checkRoute(): void {
    const { raw, match } = this.#exchange
    const isOff = match?.binding.route.isOauth === true && this.#parts.trust?.current.policy.oauth === undefined
    if (isOff) throw new GatewayRefusal('route_not_found')
    if (match !== undefined) return
    const methods = this.#methodsOf(raw.url ?? '')
    if (methods.length === 0) throw new GatewayRefusal('route_not_found')
    throw new GatewayRefusal('route_method', undefined, { headers: { allow: methods.join(', ') } })
  }

  #checkBodySize(): void {
    const declared = Number(this.#exchange.raw.headers['content-length'] ?? 0)
    if (declared > this.#parts.settings.maxBodyBytes) throw new GatewayRefusal('body_too_large')
  }

  /**
   * Public requests use no slot: they get a cached document, or wait for one shared refresh. They are refused while the
   * process is full. Clients take their slot later.
   */
  #checkCapacity(): void {
    const { binding } = this.#match
    if ('open' in binding && binding.route.admission === 'counted' && !this.#slots.hasRoom('requests'))
      throw new GatewayRefusal('overloaded')
  }

  /** Waits while all workers change to a newer list together. A process without workers never waits. */
  #awaitTrust(): MaybePromise<void> {
    const settled = 'open' in this.#match.binding ? undefined : this.#parts.trust?.settled()
    return settled instanceof Promise ? this.#deadline.within(settled) : undefined
  }

  #admitCaller(): MaybePromise<void> {
    const { binding } = this.#match
    if (!('client' in binding)) return undefined
    const incoming = this.#incoming()
    const request = {
      exchange: this.#exchange,
      route: binding.route,
      headers: this.#headers,
      deadline: this.#deadline,
    }
    const caller = this.#deadline.within(admitCaller(request, this.#parts))
    if (!(caller instanceof Promise)) return this.#openCall(caller, incoming)
    return caller.then((known) => this.#openCall(known, incoming))
  }

  #incoming(): IncomingRequest {
    return {
      exchange: this.#exchange,
      match: this.#match,
      deadline: this.#deadline,
      headers: this.#headers,
      trust: this.#parts.trust?.current,
      maxBodyBytes: this.#parts.settings.maxBodyBytes,
    }
  }

  #openCall(caller: Caller, incoming: IncomingRequest): void {
    const { raw, requestId, startedMs } = this.#exchange
    const slots = new CallerSlots(this.#slots, caller.client.id)
    const call = new ClientCall(incoming, caller.client, slots)
    auditCaller(caller, call, raw)
    this.#exchange.caller = 'client'
    const audited: AuditedRequest = {
      requestId,
      method: raw.method ?? '',
      route: call.route.path,
      startedMs,
      caller: 'client',
      isStored: call.route.credential !== 'metrics',
      context: call.context,
    }
    this.#admitted = { call, slots, audited }
  }

  /** Stores the intent before the work. An intent that is stored after the deadline is completed with 408. */
  #storeIntent(): MaybePromise<void> {
    if (this.#admitted === undefined) return undefined
    const { audited } = this.#admitted
    const { audit, log } = this.#parts
    const intent = audit.begin(audited)
    const stored = this.#deadline.within(intent)
    if (!(stored instanceof Promise)) return stored
    return stored.catch((thrown: unknown) => {
      if (toRefusal(thrown)?.error === 'deadline') {
        Promise.resolve(intent)
          .then(() => {
            audited.code = GATEWAY_ERRORS.deadline.reason
            return audit.complete(audited, GATEWAY_ERRORS.deadline.status)
          })
          .catch((error: unknown) => log.error('a late request is not in the audit', { error: toError(error) }))
      }
      throw thrown
    })
  }

  #handle(): MaybePromise<void> {
    const { binding } = this.#match
    if ('open' in binding) return this.#keep(this.#deadline.within(binding.open(new GatewayCall(this.#incoming()))))
    if ('node' in binding) return this.#keep(this.#handleNode(binding))
    const admitted = this.#admitted
    if (admitted === undefined) throw new Error('the caller is admitted by an earlier step')
    return this.#keep(this.#runAudited(admitted, (call) => binding.client(call)))
  }

  /** The slot is taken when the body has arrived. A flood of one address leaves slots for others. */
  #handleNode({ node }: NodeBinding): MaybePromise<HttpResponse> {
    const incoming = this.#incoming()
    const slots = new CallerSlots(
      this.#slots,
      `nodes ${limitAddress(incoming.exchange.raw.socket.remoteAddress ?? '')}`,
    )
    const work = withFinally(
      () => node(new NodeCall(incoming, slots)),
      () => slots.leave(),
    )
    return this.#deadline.within(work)
  }

  /** A refusal becomes the response here, so that the completion with its status is stored before it is sent. */
  #runAudited(
    { call, slots, audited }: AdmittedRequest,
    handle: (call: ClientCall) => MaybePromise<HttpResponse>,
  ): MaybePromise<HttpResponse> {
    const refuse = (thrown: unknown): HttpResponse => {
      const refusal = toRefusal(thrown)
      if (refusal?.isOutcomeUncertain === true) audited.context.outcome_uncertain = true
      audited.code = GATEWAY_ERRORS[refusal?.error ?? 'internal'].reason
      return responseFor(thrown, audited.requestId, this.#parts.log)
    }
    const work = (): MaybePromise<HttpResponse> => {
      if (call.route.credential === 'metrics' && !call.client.metrics) throw new GatewayRefusal('metrics_scope')
      return handle(call)
    }
    try {
      // A request with a body takes its slot when the body has arrived.
      if (!hasBody(this.#exchange.raw)) slots.enter()
      const response = this.#deadline.within(withFinally(work, () => slots.leave()))
      return response instanceof Promise ? response.catch(refuse) : response
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  #keep(response: MaybePromise<HttpResponse>): MaybePromise<void> {
    if (!(response instanceof Promise)) {
      this.#response = response
      return undefined
    }
    return response.then((given) => {
      this.#response = given
    })
  }

  #storeCompletion(): MaybePromise<void> {
    if (this.#admitted === undefined) return undefined
    const stored = this.#parts.audit.complete(this.#admitted.audited, this.result.status ?? 200)
    if (stored instanceof Promise) return stored.then(() => this.#setLogged())
    return this.#setLogged()
  }

  /** The audit has written the log line of this request. */
  #setLogged(): void {
    this.#exchange.isLogged = true
  }
}
