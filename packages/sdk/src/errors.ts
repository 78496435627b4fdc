import { member } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'

/** Base class of all errors of this library. None contains a request body, a header, a signature or a key. */
export class ChanceryError extends Error {
  override readonly name: string = 'ChanceryError'
}

export interface RefusedFacts {
  readonly status: number
  /** A code of contract's ERRORS; a newer authority may have codes that this table lacks. */
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

/** The authority or gateway refused the request. `code` is for programs; `message` is for people. */
export class RefusedError extends ChanceryError {
  override readonly name: string = 'RefusedError'
  readonly status: number
  readonly code: string
  readonly details: JsonObject
  /** The refusing service: a gateway may refuse before the authority receives the call. */
  readonly origin: 'authority' | 'gateway'
  /** The specific reason of a gateway (contract's GATEWAY_ERRORS), whose `code` is only the class of the status. */
  readonly reason: string | undefined
  /** Identifies the call in the log of the authority. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Local clock minus that of the authority; present only when it may be the cause of a refused signature. */
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

/** Refusals by status, for callers that use `instanceof`. All are {@link RefusedError}. */
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

/** Returns the refusal class of a status; the base class for any other. */
export function toRefusedError(facts: RefusedFacts): RefusedError {
  return new (BY_STATUS.get(facts.status) ?? RefusedError)(facts)
}

export interface UnreachableFacts {
  readonly url: string
  /** never: no byte of the request was sent. perhaps: it may have been carried out. */
  readonly sent: 'never' | 'perhaps'
  readonly systemCode: string | undefined
}

/** No response. Only the code of the platform error is included, because its texts contain addresses and internals. */
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

/** A response that no authority sends: not JSON, too large, or with missing members. Its content is not included. */
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

/** The request cannot be made: an invalid value, an invalid address or a missing key. Nothing was sent. */
export class RequestError extends ChanceryError {
  override readonly name: string = 'RequestError'
}
