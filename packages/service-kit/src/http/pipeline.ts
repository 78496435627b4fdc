import { setTimeout as pause, setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal, type Route, SERVER_LIMITS, bodyLimitOf, budgetOf } from '@chancery/contract'
import type { QueueSlot } from '../async/fair-queue.ts'
import { type MaybePromise, type Step, type SteppedRequest, runSteps } from '../async/steps.ts'
import { isTracing, traced } from '../tracing/spans.ts'
import { NO_BYTES, checkDeclaredLength, hasBody, isShort, readBody, receiveBody } from './body.ts'
import type { BodyBudgets, BodyReservation } from './body-budget.ts'
import { type Binding, type Call, type Guard, type NameCaller, RequestCall } from './call.ts'
import { type Capacity, type LongWork, type ServerPool, poolOf } from './capacity.ts'
import type { GzipCopies } from './compression.ts'
import type { Exchange } from './exchange.ts'
import { checkRawRequest } from './request-head.ts'
import { CachedDocument, type HandlerResult, HttpResponse, StreamResponse, json } from './response.ts'
import type { EdgeBinding, PathParams } from './router.ts'
import type { UnreadAnswers } from './unread-answers.ts'

/** From this size on, parsing a body takes milliseconds. */
const LONG_BODY_BYTES = 131_072
/** How often a call that was held tries to take a slot. */
const TRY_MS = 20

export interface PipelineOptions {
  readonly guard: Guard
  readonly nameCaller?: NameCaller | undefined
  /** Number of trusted proxies. Their headers contain address, scheme and host of the caller. */
  readonly proxyHops: number
  readonly maxRequestBytes: number
}

/** Limits of one process, shared by all its requests. */
export interface SharedLimits {
  readonly slots: Capacity<ServerPool>
  readonly budgets: BodyBudgets
  readonly longWork: LongWork
  readonly copies: GzipCopies
  readonly unread: UnreadAnswers
}

/** The part of an exchange that the pipeline uses. */
export type PipelineExchange = Pick<
  Exchange<EdgeBinding>,
  'raw' | 'response' | 'requestId' | 'isAnswered' | 'name' | 'gzip' | 'onResponse' | 'requestBody' | 'fail'
>

/** Where a request goes. */
export interface PipelineTarget extends Binding {
  readonly params: PathParams
}

/** Runs one request through the steps of protocol/core 3. The first step that refuses decides the response. */
export class RequestPipeline implements SteppedRequest {
  /**
   * The steps in their order. A body over 64 KiB is received only after its caller is counted and checked, so that
   * refused callers cannot make the process receive megabytes. No slot is used while a body is arriving.
   */
  static readonly #STEPS: readonly Step<RequestPipeline>[] = [
    (request) => request.#checkHead(),
    // Before anything is counted.
    (request) => request.#options.nameCaller && request.#opened.nameBy(request.#options.nameCaller),
    (request) => (request.#isLarge ? request.#enter() : undefined),
    (request) => (request.#isLarge ? request.#count() : undefined),
    (request) => (request.#isLarge ? request.#screen() : undefined),
    (request) => (request.#isLarge ? request.#leave() : undefined),
    (request) => request.#receiveBody(),
    (request) => request.#enter(),
    (request) => request.#count(),
    (request) => request.#waitForSlot(),
    (request) => request.#readJson(),
    // Parsing and verifying a large body take milliseconds each: other requests run in between.
    (request) => (request.#bytes.length < LONG_BODY_BYTES ? undefined : nextTurn()),
    (request) => request.#authorize(),
    (request) => request.#waitOutside(),
    (request) => request.#handle(),
    (request) => request.#compress(),
    (request) => request.#countAnswer(),
  ]

  readonly #options: PipelineOptions
  readonly #limits: SharedLimits
  readonly #exchange: PipelineExchange
  readonly #route: Route
  readonly #target: PipelineTarget
  #call: RequestCall | undefined
  /** The call as its handler gets it. */
  #authorized: Call | undefined
  #maxBytes = 0
  #isLarge = false
  #bytes: Uint8Array = NO_BYTES
  #deadline: NodeJS.Timeout | undefined
  /** Releases the slot. */
  #giveBack: (() => void) | undefined
  #slot: QueueSlot | undefined
  #reservation: BodyReservation | undefined
  /** True when the limiter has counted this request. */
  #isCounted = false
  result: HandlerResult = {}

  constructor(options: PipelineOptions, limits: SharedLimits, exchange: PipelineExchange, target: PipelineTarget) {
    this.#options = options
    this.#limits = limits
    this.#exchange = exchange
    this.#route = target.route
    this.#target = target
    exchange.onResponse = () => this.#release()
  }

  run(): MaybePromise<HandlerResult> {
    return runSteps(RequestPipeline.#STEPS, this)
  }

  get isAnswered(): boolean {
    return this.#exchange.isAnswered
  }

  get #opened(): RequestCall {
    if (this.#call === undefined) throw new Error('the call is opened by the first step')
    return this.#call
  }

  #checkHead(): void {
    const { raw, response, requestId } = this.#exchange
    checkRawRequest(raw)
    const incoming = { raw, response, requestId, route: this.#route, params: this.#target.params }
    this.#call = new RequestCall(incoming, this.#options.proxyHops)
    if (!hasBody(raw)) return
    this.#maxBytes = bodyLimitOf(this.#route, this.#options.maxRequestBytes)
    checkDeclaredLength(raw, this.#maxBytes)
    this.#isLarge = !isShort(raw)
  }

  /** Takes a slot of the process for this request. */
  #enter(): void {
    const pool = poolOf(this.#route)
    if (pool !== undefined && !this.#takeSlot(pool)) throw new Refusal('service_unavailable', { reason: 'overloaded' })
  }

  #takeSlot(pool: ServerPool): boolean {
    const { slots } = this.#limits
    const address = this.#opened.limitKey
    const isTaken = slots.take(pool, address)
    if (isTaken) this.#giveBack = () => slots.give(pool, address)
    return isTaken
  }

  /** Releases the slot before the body is received. The body has its own time limits. */
  #leave(): void {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    this.#giveBack?.()
    this.#giveBack = undefined
  }

  #count(): MaybePromise<void> {
    if (this.#isCounted) return undefined
    this.#isCounted = true
    return this.#inTime(this.#options.guard.limit(this.#opened, this.#route))
  }

  #screen(): MaybePromise<void> {
    return this.#inTime(this.#options.guard.screen(this.#opened, this.#route))
  }

  #receiveBody(): MaybePromise<void> {
    const { raw } = this.#exchange
    if (!hasBody(raw)) return undefined
    this.#exchange.requestBody()
    this.#reservation = this.#limits.budgets.open(budgetOf(this.#route), this.#opened.limitKey)
    return receiveBody(raw, this.#maxBytes, this.#reservation).then((bytes) => {
      this.#bytes = bytes
    })
  }

  /** Waits for a slot of this address. A request whose caller has gone or whose deadline is over is dropped. */
  #waitForSlot(): MaybePromise<void> {
    const slot = this.#limits.longWork.slotFor(this.#route, this.#opened.limitKey, this.#bytes.length)
    if (slot === undefined) return undefined
    const { response } = this.#exchange
    this.#slot = slot
    this.#startDeadline()
    // The caller may have gone during the limiter check: then no event follows.
    if (response.destroyed) slot.drop()
    else response.once('close', () => slot.drop())
    return slot.granted.then((isGranted) => {
      if (!isGranted) throw new Refusal('service_unavailable', { reason: 'overloaded' })
      // Other requests of this address may have failed while this one waited.
      return this.#isLarge ? this.#screen() : undefined
    })
  }

  #readJson(): void {
    const call = this.#opened
    call.body = readBody(this.#bytes, call.headers, this.#route)
  }

  #authorize(): MaybePromise<void> {
    const authorized = this.#inTime(this.#options.guard.authorize(this.#opened, this.#route))
    if (!(authorized instanceof Promise)) {
      this.#authorized = authorized
      return undefined
    }
    return authorized.then((call) => {
      this.#authorized = call
    })
  }

  /** A call that is held gives back its slot, so that others are served. It goes on with one that new calls do not use. */
  #waitOutside(): MaybePromise<void> {
    const opened = this.#target.held?.()
    if (opened === undefined) return undefined
    this.#giveBack?.()
    this.#giveBack = undefined
    return this.#inTime(opened.then(() => this.#enterAgain()))
  }

  async #enterAgain(): Promise<void> {
    while (!this.isAnswered && !this.#takeSlot('resumed')) await pause(TRY_MS)
  }

  #handle(): MaybePromise<void> {
    const { handle } = this.#target
    const call = this.#authorized ?? this.#opened
    const result = this.#inTime(isTracing ? traced(`handle ${this.#route.id}`, {}, () => handle(call)) : handle(call))
    if (!(result instanceof Promise)) {
      this.result = result
      return undefined
    }
    return result.then((given) => {
      this.result = given
    })
  }

  #compress(): MaybePromise<void> {
    // Only large documents for many readers are compressed.
    if (!(this.result instanceof CachedDocument)) return undefined
    const copy = this.#limits.copies.copyFor(this.result, this.#exchange.raw.headers)
    if (!(copy instanceof Promise)) {
      this.#exchange.gzip = copy
      return undefined
    }
    return copy.then((bytes) => {
      this.#exchange.gzip = bytes
    })
  }

  /** JSON is written here, because the size of its text counts, too. */
  #countAnswer(): void {
    const { result } = this
    const isReady =
      result instanceof HttpResponse || result instanceof CachedDocument || result instanceof StreamResponse
    if (!isReady) this.result = json(result)
    this.#limits.unread.count(this.#exchange, this.result, this.#opened.limitKey)
  }

  /**
   * Starts the deadline when a step waits. Checks and handlers wait for databases and other services. One that hangs
   * must not block its caller and its slot permanently; started work may still finish.
   */
  #inTime<Value>(value: MaybePromise<Value>): MaybePromise<Value> {
    if (value instanceof Promise) this.#startDeadline()
    return value
  }

  #startDeadline(): void {
    const route = this.#route
    const ms = (route.deadlineSeconds ?? SERVER_LIMITS.handlerDeadlineSeconds) * 1000
    this.#deadline ??= setTimeout(() => this.#exchange.fail(tooLate(route)), ms)
  }

  #release(): void {
    clearTimeout(this.#deadline)
    this.#giveBack?.()
    this.#reservation?.release()
    this.#slot?.drop()
    this.#slot?.end()
    if (this.#call !== undefined) this.#exchange.name(this.#call)
  }
}

/** A write may still be committed, so the caller must check before it repeats the request. */
function tooLate(route: Route): Refusal {
  const outcome = route.method === 'GET' ? {} : { outcome: 'unknown' }
  return new Refusal('service_unavailable', { reason: 'deadline', ...outcome })
}
