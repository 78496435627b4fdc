import type { ServerResponse } from 'node:http'
import { ERRORS, Refusal, SERVER_LIMITS, bodyLimitOf, roomOf } from '@chancery/contract'
import type { ErrorCode, Route } from '@chancery/contract'
import { limitAddress } from '../client-address.ts'
import type { Turn } from '../fair-turns.ts'
import type { Log } from '../log.ts'
import type { Shares } from '../shares.ts'
import type { Soon } from '../soon.ts'
import { inRequestSpan, isTracing, traced } from '../traces.ts'
import type { RequestSpan } from '../traces.ts'
import type { AccessLog } from './access-log.ts'
import { Answer } from './answer.ts'
import type { Binding, Guard, HandlerAnswer } from './bind.ts'
import { NO_BYTES, checkDeclaredLength, hasBody, isShort, readBody, takeBody } from './body.ts'
import type { BodyHold, BodyRooms } from './body-rooms.ts'
import type { Call } from './call.ts'
import { toErrorAnswer } from './error-envelope.ts'
import type { Gatekeeper } from './gatekeeper.ts'
import type { GzipCopies } from './gzip-copies.ts'
import type { LongWork } from './long-work.ts'
import { MalformedRequest } from './malformed-request.ts'
import { OpenCall } from './open-call.ts'
import type { Arrival } from './open-call.ts'
import { checkRawRequest } from './raw-request.ts'
import { send } from './send.ts'
import type { Closing } from './send.ts'
import { Verifications, Withdrawals } from './verifications.ts'
import { othersFirst, tooLate } from './waits.ts'

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
  /** One line per request; none when absent. */
  readonly access?: AccessLog
}

/** What one process takes on, shared by all its exchanges. */
export interface Capacity {
  readonly gate: Gatekeeper
  readonly verifications: Verifications
  readonly withdrawals: Withdrawals
  readonly rooms: BodyRooms
  readonly longWork: LongWork
  readonly copies: GzipCopies
}

/**
 * One request and its one answer. The pipeline of protocol/core 3 as steps that go on at once where nothing waits; the
 * first failing check decides the answer.
 */
export class Exchange<Context> {
  readonly #options: ExchangeOptions<Context>
  readonly #gate: Gatekeeper
  readonly #verifications: Verifications
  readonly #withdrawals: Withdrawals
  readonly #capacity: Capacity
  readonly #arrival: Arrival
  readonly #response: ServerResponse
  readonly #isLast: boolean
  readonly #started: number = performance.now()
  #binding: Binding<Context> | undefined
  #call: OpenCall | undefined
  /** Why the request was refused or failed. */
  #code: string | undefined
  #cause: unknown
  #deadline: NodeJS.Timeout | undefined
  /** Limits count by it. */
  #address = ''
  /** Gives back the place that was taken. */
  #leave: (() => void) | undefined
  #turn: Turn | undefined
  #hold: BodyHold | undefined
  /** The limiter has seen this request already. */
  #isCounted = false
  #isAnswered = false
  #span: RequestSpan | undefined

  constructor(options: ExchangeOptions<Context>, capacity: Capacity, arrival: Arrival, response: ServerResponse) {
    const { gate, verifications, withdrawals } = capacity
    this.#options = options
    this.#gate = gate
    this.#verifications = verifications
    this.#withdrawals = withdrawals
    this.#capacity = capacity
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
      this.#call = call
      this.#address = limitAddress(call.remoteAddress)
      if (!hasBody(raw)) return this.#admit(binding, call, NO_BYTES)
      const maxBytes = bodyLimitOf(binding.route, this.#options.maxRequestBytes)
      checkDeclaredLength(raw, maxBytes)
      if (isShort(raw)) this.#read(binding, call, maxBytes)
      else this.#screen(binding, call, maxBytes)
    })
  }

  /**
   * What a large body cannot change is judged before it is read: otherwise anyone could have megabytes taken in that
   * will be refused anyway. No place is held while the body is on its way.
   */
  #screen(binding: Binding<Context>, call: OpenCall, maxBytes: number): void {
    const { route } = binding
    const { guard } = this.#options
    this.#enter(route)
    this.#after(guard.limit(call, route), () =>
      this.#after(guard.screen(call, route), () => {
        this.#isCounted = true
        this.#leave?.()
        this.#leave = undefined
        this.#read(binding, call, maxBytes)
      }),
    )
  }

  #read(binding: Binding<Context>, call: OpenCall, maxBytes: number): void {
    const { raw } = this.#arrival
    // Only now: who waits for it has sent nothing of a body that would have been refused.
    if (raw.headers.expect !== undefined && raw.httpVersion === '1.1') this.#response.writeContinue()
    this.#hold = this.#capacity.rooms.open(roomOf(binding.route), this.#address)
    this.#after(takeBody(raw, maxBytes, this.#hold), (read) => this.#admit(binding, call, read))
  }

  /** Gives the answer of `work`, which needs neither a place nor a body. A refusal in it is noted, for the log. */
  answer(work: (note: (code: ErrorCode) => void) => HandlerAnswer): void {
    this.#attempt(() => this.#finish(work((code) => void (this.#code = code))))
  }

  /** A place is taken once the body is here: whoever withholds it keeps nobody else out. */
  #admit(binding: Binding<Context>, call: OpenCall, bytes: Uint8Array): void {
    const { route } = binding
    this.#enter(route)
    this.#after(this.#isCounted ? undefined : this.#options.guard.limit(call, route), () =>
      this.#after(this.#takeTurn(call, route, bytes.length), () => {
        call.body = readBody(bytes, call.headers, route)
        this.#after(othersFirst(bytes), () =>
          this.#after(this.#options.guard.authorize(call, route), (authorized) => this.#handle(binding, authorized)),
        )
      }),
    )
  }

  #enter(route: Route): void {
    const address = this.#address
    const own = this.#ownPlaces(route)
    if (own !== undefined) {
      if (!own.take(address)) throw new Refusal('service_unavailable')
      this.#leave = () => own.give(address)
      return
    }
    const isExempt = route.limit === 'none'
    if (!this.#gate.enter(isExempt, address)) throw new Refusal('service_unavailable')
    this.#leave = () => this.#gate.leave(isExempt, address)
  }

  #ownPlaces(route: Route): Shares | undefined {
    if (Verifications.covers(route)) return this.#verifications
    return Withdrawals.covers(route) ? this.#withdrawals : undefined
  }

  /** Waits until it is this address's turn. Whoever goes away, or waits past the deadline, is never worked for. */
  #takeTurn(call: OpenCall, route: Route, bodyBytes: number): Soon<void> {
    const turn = this.#capacity.longWork.turnFor(route, this.#address, bodyBytes)
    if (turn === undefined) return undefined
    this.#turn = turn
    this.#startDeadline(route)
    // It may have gone while the limiter was asked: then no event will say so again.
    if (this.#response.destroyed) turn.drop()
    else this.#response.once('close', () => turn.drop())
    return turn.come.then((hasCome) => {
      if (!hasCome) throw new Refusal('service_unavailable')
      // While it waited, others of the same address may have shown what they are.
      return this.#isCounted ? this.#options.guard.screen(call, route) : undefined
    })
  }

  #startDeadline(route: Route): void {
    this.#deadline ??= setTimeout(() => this.#fail(tooLate(route)), SERVER_LIMITS.handlerDeadlineSeconds * 1000)
  }

  #handle({ route, handle }: Binding<Context>, call: Call): void {
    const { context } = this.#options
    const answer = isTracing ? traced(`handle ${route.id}`, {}, () => handle(call, context)) : handle(call, context)
    // A handler that hangs must not keep its caller and its place for ever; what it was doing may still finish.
    if (answer instanceof Promise) this.#startDeadline(route)
    this.#after(answer, (given) => {
      const copy = this.#capacity.copies.copyFor(given, this.#arrival.raw.headers)
      this.#after(copy, (gzip) => this.#finish(given, undefined, gzip))
    })
  }

  /** Goes on with the value: at once, or when it is there. After the answer nothing goes on. */
  #after<Value>(value: Soon<Value>, next: (value: Value) => void): void {
    if (value instanceof Promise) {
      void value.then(
        (come) => {
          if (!this.#isAnswered) this.#attempt(() => next(come))
        },
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
    this.#code = refusal?.code ?? 'internal_server_error'
    this.#cause = refusal === error ? (refusal?.cause ?? error) : error
    const about = { request_id: requestId, route: route?.id ?? 'none', error }
    if (refusal === undefined) log.error('unexpected error', about)
    // What the caller sent is no failure here, and strangers must not fill the log.
    else if (ERRORS[refusal.code].status >= 500 && (refusal !== error || refusal.cause !== undefined))
      log.warn('infrastructure failed', { ...about, error: refusal === error ? refusal.cause : error })
    // What was not read must not be taken for the next request on this connection.
    const isUnread = !raw.complete && hasBody(raw)
    const closes = error instanceof MalformedRequest ? 'now' : isUnread ? 'after-rest' : undefined
    this.#finish(toErrorAnswer(refusal ?? error, requestId, route), closes)
  }

  #finish(answer: HandlerAnswer, closes?: Closing, gzip?: Uint8Array): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    clearTimeout(this.#deadline)
    const route = this.#binding?.route
    this.#leave?.()
    this.#hold?.release()
    this.#turn?.drop()
    this.#turn?.end()
    const status = (answer instanceof Answer ? answer.status : undefined) ?? route?.success ?? 200
    const milliseconds = performance.now() - this.#started
    this.#options.observe(route, status, milliseconds / 1000)
    this.#tell(route, status, milliseconds)
    this.#span?.end(status)
    try {
      const { requestId } = this.#arrival
      const isLast = this.#isLast || this.#gate.draining
      send(this.#response, answer, { requestId, status, closes: closes ?? (isLast ? 'now' : undefined), gzip })
    } catch (error) {
      // Half an answer may be out: the caller must not take it for a whole one.
      this.#options.log.error('an answer could not be sent', { request_id: this.#arrival.requestId, error })
      this.#response.destroy()
    } finally {
      this.#gate.closeAnswer(this.#arrival.raw.socket)
    }
  }

  #tell(route: Route | undefined, status: number, milliseconds: number): void {
    this.#options.access?.note({
      requestId: this.#arrival.requestId,
      route: route?.id ?? 'none',
      status,
      milliseconds,
      caller: this.#call?.caller ?? 'anonymous',
      code: this.#code,
      cause: this.#cause,
      isProbe: route?.limit === 'none',
    })
  }
}
