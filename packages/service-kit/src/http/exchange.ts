import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LIMITS, Refusal, SERVER_LIMITS } from '@chancery/contract'
import type { Route } from '@chancery/contract'
import type { Log } from '../log.ts'
import type { Soon } from '../soon.ts'
import { inRequestSpan, isTracing, traced } from '../traces.ts'
import type { RequestSpan } from '../traces.ts'
import { Answer } from './answer.ts'
import type { Binding, Guard, HandlerAnswer } from './bind.ts'
import { hasBody, readBody, readBodyBytes } from './body.ts'
import type { Call } from './call.ts'
import { toErrorAnswer } from './error-envelope.ts'
import type { Gatekeeper } from './gatekeeper.ts'
import { MalformedRequest } from './malformed-request.ts'
import { OpenCall } from './open-call.ts'
import type { Arrival } from './open-call.ts'
import { checkRawRequest } from './raw-request.ts'
import { send } from './send.ts'

/** What every exchange of one server shares. */
export interface ExchangeOptions<Context> {
  readonly context: Context
  readonly guard: Guard
  readonly log: Log
  /** How many proxies in front may be believed about address, scheme and host. */
  readonly proxyHops: number
  readonly maxRequestBytes: number
  /** Turns errors of the service's own infrastructure into the refusal they mean; undefined for bugs. */
  readonly translate: (error: unknown) => Refusal | undefined
  /** Called once per answered request, for metrics. */
  readonly observe: (route: Route | undefined, status: number, seconds: number) => void
}

/**
 * One request and its one answer. The pipeline of protocol/core 3 as steps that go on at once where nothing waits; the
 * first failing check decides the answer.
 */
export class Exchange<Context> {
  readonly #options: ExchangeOptions<Context>
  readonly #gate: Gatekeeper
  readonly #arrival: Arrival
  readonly #response: ServerResponse
  readonly #isLast: boolean
  readonly #started: number = performance.now()
  #binding: Binding<Context> | undefined
  #deadline: NodeJS.Timeout | undefined
  #hasPlace = false
  #isAnswered = false
  #span: RequestSpan | undefined

  constructor(options: ExchangeOptions<Context>, gate: Gatekeeper, arrival: Arrival, response: ServerResponse) {
    this.#options = options
    this.#gate = gate
    this.#arrival = arrival
    this.#response = response
    this.#isLast = gate.openAnswer(arrival.raw.socket) >= SERVER_LIMITS.requestsPerConnection
  }

  /** Takes the request through its route. */
  serve(binding: Binding<Context>): void {
    this.#binding = binding
    if (!isTracing) return this.#begin(binding)
    const { raw, requestId } = this.#arrival
    const request = { route: binding.route.path, method: raw.method ?? '', requestId, rawHeaders: raw.rawHeaders }
    inRequestSpan(request, (span) => {
      this.#span = span
      this.#begin(binding)
    })
  }

  #begin(binding: Binding<Context>): void {
    this.#attempt(() => {
      const { raw } = this.#arrival
      checkRawRequest(raw)
      const call = new OpenCall(this.#arrival, binding.route, this.#options.proxyHops)
      const bytes = readBodyBytes(raw, bodyLimit(binding.route, this.#options.maxRequestBytes), this.#gate)
      this.#after(bytes, (read) => this.#admit(binding, call, read))
    })
  }

  /** Gives the answer of `work`, which needs neither a place nor a body. */
  answer(work: () => HandlerAnswer): void {
    this.#attempt(() => this.#finish(work()))
  }

  /** A place is taken once the body is here: whoever withholds it keeps nobody else out. */
  #admit(binding: Binding<Context>, call: OpenCall, bytes: Uint8Array): void {
    const { route } = binding
    if (!this.#gate.enter(route.limit === 'none')) throw new Refusal('service_unavailable')
    this.#hasPlace = true
    this.#after(this.#options.guard.limit(call, route), () => {
      call.body = readBody(bytes, call.headers, route)
      this.#after(othersFirst(bytes), () =>
        this.#after(this.#options.guard.authorize(call, route), (authorized) => this.#handle(binding, authorized)),
      )
    })
  }

  #handle({ route, handle }: Binding<Context>, call: Call): void {
    const { context } = this.#options
    const answer = isTracing ? traced(`handle ${route.id}`, {}, () => handle(call, context)) : handle(call, context)
    // A handler that hangs must not keep its caller and its place for ever; what it was doing may still finish.
    if (answer instanceof Promise) {
      this.#deadline = setTimeout(() => this.#fail(tooLate(route)), SERVER_LIMITS.handlerDeadlineSeconds * 1000)
    }
    this.#after(answer, (given) => this.#finish(given))
  }

  /** Goes on with the value: at once, or when it is there. */
  #after<Value>(value: Soon<Value>, next: (value: Value) => void): void {
    if (value instanceof Promise) {
      void value.then(
        (come) => this.#attempt(() => next(come)),
        (error: unknown) => this.#fail(error),
      )
    } else next(value)
  }

  #attempt(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#isAnswered) return
    const { log, translate } = this.#options
    const { requestId, raw } = this.#arrival
    const route = this.#binding?.route
    const refusal = error instanceof Refusal ? error : translate(error)
    const about = { request_id: requestId, route: route?.id ?? 'none', error }
    if (refusal === undefined) log.error('unexpected error', about)
    else if (refusal !== error) log.warn('infrastructure failed', about)
    // What was not read must not be taken for the next request on this connection.
    const closes = (!raw.complete && hasBody(raw)) || error instanceof MalformedRequest
    this.#finish(toErrorAnswer(refusal ?? error, requestId, route), closes)
  }

  #finish(answer: HandlerAnswer, closes = false): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    clearTimeout(this.#deadline)
    const route = this.#binding?.route
    if (this.#hasPlace) this.#gate.leave(route?.limit === 'none')
    const status = (answer instanceof Answer ? answer.status : undefined) ?? route?.success ?? 200
    this.#options.observe(route, status, (performance.now() - this.#started) / 1000)
    this.#span?.end(status)
    try {
      const { requestId } = this.#arrival
      send(this.#response, answer, { requestId, status, closes: closes || this.#isLast || this.#gate.draining })
    } catch (error) {
      // Half an answer may be out: the caller must not take it for a whole one.
      this.#options.log.error('an answer could not be sent', { request_id: this.#arrival.requestId, error })
      this.#response.destroy()
    } finally {
      this.#gate.closeAnswer()
    }
  }
}

/** From here on reading a body takes milliseconds. */
const LONG_BODY_BYTES = 131_072

/** Reading a long body was one piece of work and judging it will be another: others get a turn between the two. */
function othersFirst(bytes: Uint8Array): Soon<void> {
  return bytes.length < LONG_BODY_BYTES ? undefined : nextTurn()
}

/** A write may still be committed: the caller must look before repeating. */
function tooLate(route: Route): Refusal {
  return new Refusal('service_unavailable', route.method === 'GET' ? {} : { outcome: 'unknown' })
}

function bodyLimit(route: Route, maxRequestBytes: number): number {
  if (route.bodyLimit === 'node') return Math.min(LIMITS.nodeBodyBytes, maxRequestBytes)
  return route.bodyLimit === 'feed' ? maxRequestBytes * LIMITS.feedBodyFactor : maxRequestBytes
}
