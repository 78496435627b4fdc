import { type ErrorCode, GATEWAY_ERRORS, type GatewayErrorName, GatewayRefusal, Refusal } from '@chancery/contract'
import { HttpResponse, type Log, type MaybePromise, json, toError } from '@chancery/service-kit'
import { QuotaUnavailableError } from '../quota/proof-mark.ts'
import { StateUnavailableError } from '../state/durable-state.ts'

/** Gateway errors for the refusals of the shared edge. */
const SHARED: Partial<Readonly<Record<ErrorCode, GatewayErrorName>>> = {
  bad_request: 'malformed_request',
  request_header_fields_too_large: 'headers_too_large',
  request_entity_too_large: 'body_too_large',
  service_unavailable: 'overloaded',
  unsupported_media_type: 'content_type',
  request_timeout: 'deadline',
}

const RETRY_SECONDS = 60

/** Returns a thrown value as a refusal; undefined for a bug. */
export function toRefusal(error: unknown): GatewayRefusal | undefined {
  if (error instanceof GatewayRefusal) return error
  if (error instanceof Refusal) return new GatewayRefusal(SHARED[error.code] ?? 'internal', undefined, { cause: error })
  if (error instanceof QuotaUnavailableError) return new GatewayRefusal('quota_backend', undefined, { cause: error })
  if (error instanceof StateUnavailableError)
    return new GatewayRefusal('state_unavailable', undefined, { cause: error })
  return undefined
}

/** Returns the response for a thrown value. The cause of a bug is logged and not sent. */
export function responseFor(thrown: unknown, requestId: string, log: Log): HttpResponse {
  const refusal = toRefusal(thrown)
  if (refusal === undefined) log.error('unexpected error', { request_id: requestId, error: toError(thrown) })
  return errorResponse(refusal ?? new GatewayRefusal('internal'), requestId)
}

/** Creates the flat error body (protocol/gateway 6) with its status. */
export function errorResponse(refusal: GatewayRefusal, requestId: string): HttpResponse {
  const { status, code, reason, message } = GATEWAY_ERRORS[refusal.error]
  const body = json({
    error: message,
    code,
    reason,
    request_id: requestId,
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
    ...(refusal.isOutcomeUncertain ? { outcome_uncertain: true } : {}),
  })
  return new HttpResponse(body.body, body.contentType, status, { ...headersFor(status, refusal), ...refusal.headers })
}

function headersFor(status: number, refusal: GatewayRefusal): { readonly [name: string]: string } {
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  if (status !== 429 && status !== 503) return {}
  return { 'retry-after': String(refusal.retryAfterSeconds ?? RETRY_SECONDS) }
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
