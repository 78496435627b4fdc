import type { ErrorCode, GatewayErrorCode } from '@chancery/contract'
import { type CrlEntry, type JsonObject, member } from '@chancery/protocol'

/** Base class of all errors of this library. None contains a request body, a header, a signature or a key. */
export class ChanceryError extends Error {
  override readonly name: string = 'ChanceryError'
}

/**
 * Of an authority or, with the origin `gateway`, the class of its status. `unknown_code`: a newer service has a code that
 * this version does not know. It is in `receivedCode`.
 */
export type RefusedCode = ErrorCode | GatewayErrorCode | 'unknown_code'

export interface RefusedFacts {
  readonly status: number
  readonly code: RefusedCode
  /** As the service sent it; `code` when not given. */
  readonly receivedCode?: string
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
  readonly code: RefusedCode
  /** The code as the service sent it: another text than `code` only when this version does not know it. */
  readonly receivedCode: string
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
    super(facts.message + clockText(facts.clockSkewSeconds))
    this.status = facts.status
    this.code = facts.code
    this.receivedCode = facts.receivedCode ?? facts.code
    this.details = facts.details
    this.origin = facts.origin ?? 'authority'
    this.reason = facts.reason
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.clockSkewSeconds = facts.clockSkewSeconds
    this.outcomeUncertain = facts.outcomeUncertain === true || member(facts.details, 'outcome') === 'unknown'
  }
}

/** A signature of a wrong clock is refused without a reason: an authority does not help to find a valid time. */
function clockText(skewSeconds: number | undefined): string {
  if (skewSeconds === undefined) return ''
  const side = skewSeconds > 0 ? 'ahead of' : 'behind'
  return ` The clock of this machine is ${Math.abs(skewSeconds)} s ${side} that of the authority.`
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

  constructor(facts: RefusedFacts) {
    super(facts)
    withoutFrames(this)
  }
}

/** The certificate or the key of this node is revoked: an operator must find the cause. No later call can succeed. */
export class RevokedError extends ForbiddenError {
  override readonly name: string = 'RevokedError'
  /** Of the revocation list, when this node read it there. Otherwise the authority refused a call. */
  readonly entry: CrlEntry | undefined

  constructor(facts: RefusedFacts, entry?: CrlEntry) {
    super(facts)
    this.entry = entry
  }
}

const REVOKED: ReadonlySet<string> = new Set<ErrorCode>([
  'certificate_revoked',
  'node_key_compromised',
  'node_key_revoked',
])

/**
 * A web server may show the stack of an error that its program does not handle. That the authority cannot be reached is no
 * defect of the program, so the stack has nothing but the message.
 */
function withoutFrames(error: Error): void {
  error.stack = `${error.name}: ${error.message}`
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
  if (REVOKED.has(facts.code)) return new RevokedError(facts)
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
  /** What Express and Fastify answer when the program does not handle this error. */
  readonly statusCode = 503

  constructor(facts: UnreachableFacts) {
    super(`No answer from ${facts.url}${facts.systemCode === undefined ? '' : ` (${facts.systemCode})`}`)
    this.url = facts.url
    this.sent = facts.sent
    this.systemCode = facts.systemCode
    withoutFrames(this)
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

/** Whether the authority or gateway could not answer, and a later call may succeed. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof UnreachableError || error instanceof ServiceUnavailableError
}

/** The request cannot be made: an invalid value, an invalid address or a missing key. Nothing was sent. */
export class RequestError extends ChanceryError {
  override readonly name: string = 'RequestError'
}
