import { member } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'

/** What every error of this library is. None of them holds a request body, a header, a signature or a key. */
export class ChanceryError extends Error {
  override readonly name: string = 'ChanceryError'
}

export interface RefusedFacts {
  readonly status: number
  /** A code of contract's ERRORS; a newer authority may know codes this table does not. */
  readonly code: string
  readonly message: string
  readonly details: JsonObject
  /** Absent: the authority. */
  readonly origin?: 'authority' | 'gateway'
  readonly reason?: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly clockSkewSeconds: number | undefined
  /** Stated explicitly in the response; `details.outcome` of an authority counts as well. */
  readonly outcomeUncertain?: boolean
}

/** The authority or gateway said no. `code` is what a program should look at; `message` is for people. */
export class RefusedError extends ChanceryError {
  override readonly name: string = 'RefusedError'
  readonly status: number
  readonly code: string
  readonly details: JsonObject
  /** Who refused: a gateway in front may, before the authority has seen the call. */
  readonly origin: 'authority' | 'gateway'
  /** The specific word of a gateway (contract's GATEWAY_ERRORS), whose `code` is only the class of the status. */
  readonly reason: string | undefined
  /** Finds the call in the log of the authority. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Local clock minus that of the authority; only there when a refused signature may be due to it. */
  readonly clockSkewSeconds: number | undefined
  /** The request may have been executed: check the state before you call again. */
  readonly outcomeUncertain: boolean

  constructor(facts: RefusedFacts) {
    super(facts.message)
    this.status = facts.status
    this.code = facts.code
    this.details = facts.details
    this.origin = facts.origin ?? 'authority'
    this.reason = facts.reason
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.clockSkewSeconds = facts.clockSkewSeconds
    this.outcomeUncertain = facts.outcomeUncertain === true || member(facts.details, 'outcome') === 'unknown'
  }
}

/** The refusals by status, for callers that use `instanceof`. All are {@link RefusedError}. */
export class BadRequestError extends RefusedError {
  override readonly name: string = 'BadRequestError'
}
export class UnauthorizedError extends RefusedError {
  override readonly name: string = 'UnauthorizedError'
}
export class ForbiddenError extends RefusedError {
  override readonly name: string = 'ForbiddenError'
}
export class NotFoundError extends RefusedError {
  override readonly name: string = 'NotFoundError'
}
export class ConflictError extends RefusedError {
  override readonly name: string = 'ConflictError'
}
export class ValidationError extends RefusedError {
  override readonly name: string = 'ValidationError'
}
export class RateLimitError extends RefusedError {
  override readonly name: string = 'RateLimitError'
}
export class ServiceUnavailableError extends RefusedError {
  override readonly name: string = 'ServiceUnavailableError'
}

const BY_STATUS: ReadonlyMap<number, typeof RefusedError> = new Map([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [422, ValidationError],
  [429, RateLimitError],
  [503, ServiceUnavailableError],
])

/** The refusal of its status; a plain one for any other. */
export function toRefusedError(facts: RefusedFacts): RefusedError {
  return new (BY_STATUS.get(facts.status) ?? RefusedError)(facts)
}

export interface UnreachableFacts {
  readonly url: string
  /** never: no byte of the request left. perhaps: it may have been carried out. */
  readonly sent: 'never' | 'perhaps'
  readonly systemCode: string | undefined
}

/** No answer. The cause of the platform is reduced to its code: its texts hold addresses and internals. */
export class UnreachableError extends ChanceryError {
  override readonly name: string = 'UnreachableError'
  readonly url: string
  readonly sent: 'never' | 'perhaps'
  /** For example ECONNREFUSED, or TIMEOUT when the time budget ran out; browsers give none. */
  readonly systemCode: string | undefined

  constructor(facts: UnreachableFacts) {
    super(`No answer from ${facts.url}${facts.systemCode === undefined ? '' : ` (${facts.systemCode})`}`)
    this.url = facts.url
    this.sent = facts.sent
    this.systemCode = facts.systemCode
  }

  /** The connection was never made, so nothing was carried out. */
  get connectFailed(): boolean {
    return this.sent === 'never'
  }
}

export interface ResponseFacts {
  readonly status: number
  readonly problem: string
  readonly requestId: string | undefined
}

/** An answer that no authority gives: not JSON, too large, or with missing members. Its content is not repeated. */
export class ResponseError extends ChanceryError {
  override readonly name: string = 'ResponseError'
  readonly status: number
  readonly problem: string
  readonly requestId: string | undefined

  constructor(facts: ResponseFacts) {
    super(`The answer (status ${facts.status}) cannot be used: ${facts.problem}`)
    this.status = facts.status
    this.problem = facts.problem
    this.requestId = facts.requestId
  }
}

/** The request cannot be made: a value that fits no route, an address that is none, a missing key. Nothing was sent. */
export class RequestError extends ChanceryError {
  override readonly name: string = 'RequestError'
}
