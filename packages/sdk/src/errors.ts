import type { ErrorCode, GATEWAY_ERRORS } from '@chancery/contract'
import { type CrlEntry, type JsonObject, type RecordKindName, member } from '@chancery/protocol'

/** What kind of failure it is, for a `switch`; the classes are for `instanceof`. */
export type ErrorKind =
  | 'refused'
  | 'revoked'
  | 'denied'
  | 'no_decision'
  | 'unreachable'
  | 'bad_response'
  | 'not_verified'
  | 'usage'
  | 'join_interrupted'
  | 'evidence_not_stored'
  | 'store_in_use'
  | 'token_refused'
  | 'platform'

/** Base class of all errors of this library. None contains a request body, a header, a signature or a key. */
export abstract class ChanceryError extends Error {
  override readonly name: string = 'ChanceryError'
  abstract readonly kind: ErrorKind
}

/** The codes of an authority (docs/reference/errors.md). */
export type AuthorityCode = ErrorCode
/** The reasons of a gateway: its `code` is only the class of the status. */
export type GatewayCode = keyof typeof GATEWAY_ERRORS
/** A newer service may send other codes, so a `switch` needs a default. */
export type RefusalCode = AuthorityCode | GatewayCode | (string & {})

/** Details with a fixed form, by code. Those of other codes are any JSON object. */
export interface RefusalDetails {
  readonly invalid_input: { readonly field: string }
  readonly unexpected_field: { readonly fields: readonly string[] }
  readonly certificate_not_found: { readonly cert_ids?: readonly string[] }
}

export interface RefusedFacts<Code extends RefusalCode = RefusalCode> {
  readonly status: number
  readonly code: Code
  readonly message: string
  readonly details: JsonObject
  /** Absent: the authority. */
  readonly service?: 'authority' | 'gateway'
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly clockOffsetSeconds?: number | undefined
  /** Stated in the response; `details.outcome` of an authority counts as well. */
  readonly outcomeUncertain?: boolean
}

/** The authority or gateway refused the request. `code` is for programs; `message` is for people. */
export class RefusedError<Code extends RefusalCode = RefusalCode> extends ChanceryError {
  override readonly name: string = 'RefusedError'
  readonly kind: 'refused' | 'revoked' = 'refused'
  readonly status: number
  readonly code: Code
  readonly details: [Code] extends [keyof RefusalDetails] ? RefusalDetails[Code] : JsonObject
  /** The refusing service: a gateway may refuse before the authority receives the call. */
  readonly service: 'authority' | 'gateway'
  /** Identifies the call in the log of the service. */
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Clock of this machine minus that of the service, measured with the response. The message names it from 30 s on. */
  readonly clockOffsetSeconds: number | undefined
  /** The request may have been executed: check the state before you call again. */
  readonly outcomeUncertain: boolean

  constructor(facts: RefusedFacts<Code>) {
    super(facts.message + clockText(facts.clockOffsetSeconds))
    this.status = facts.status
    this.code = facts.code
    this.details = facts.details as this['details']
    this.service = facts.service ?? 'authority'
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.clockOffsetSeconds = facts.clockOffsetSeconds
    this.outcomeUncertain = facts.outcomeUncertain === true || member(facts.details, 'outcome') === 'unknown'
  }
}

const NOTABLE_OFFSET_SECONDS = 30

/** A signature of a wrong clock is refused without a reason: an authority does not help to find a valid time. */
function clockText(offsetSeconds: number | undefined): string {
  if (offsetSeconds === undefined || Math.abs(offsetSeconds) < NOTABLE_OFFSET_SECONDS) return ''
  const side = offsetSeconds > 0 ? 'ahead of' : 'behind'
  return ` The clock of this machine is ${Math.abs(offsetSeconds)} s ${side} that of the service.`
}

/** Narrows a refusal to one code, with its details. */
export function isRefused<Code extends AuthorityCode | GatewayCode>(
  error: unknown,
  code: Code,
): error is RefusedError<Code> {
  return error instanceof RefusedError && error.code === code
}

/** Refusals by status, for programs of other libraries that use `instanceof`; exported by `/compat`. */
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

type RevokedCode = 'certificate_revoked' | 'node_key_revoked' | 'node_key_compromised'

/** The certificate or the key of this node is revoked: an operator must find the cause. No later call can succeed. */
export class RevokedError extends RefusedError<RevokedCode> {
  override readonly name: string = 'RevokedError'
  override readonly kind = 'revoked'
  /** Of the revocation list, when this node read it there. Otherwise the authority refused a call. */
  readonly entry: CrlEntry | undefined

  constructor(facts: RefusedFacts<RevokedCode>, entry?: CrlEntry) {
    super(facts)
    this.entry = entry
  }
}

const REVOKED: ReadonlySet<string> = new Set<RevokedCode>([
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

const BY_STATUS: ReadonlyMap<number, new (facts: RefusedFacts) => RefusedError> = new Map([
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
  const { code, service } = facts
  if (REVOKED.has(code) && service !== 'gateway') return new RevokedError({ ...facts, code: code as RevokedCode })
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
  readonly kind = 'unreachable'
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
  readonly kind = 'bad_response'
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

/** A record, a certificate or a response is not what the caller requires. Do not act on it. */
export class VerificationError extends ChanceryError {
  override readonly name: string = 'VerificationError'
  readonly kind = 'not_verified'
  /** A code for programs. */
  readonly reason: string
  /** What was verified; `record` for one of unknown kind. */
  readonly record: RecordKindName | 'response' | 'certificate' | 'record'

  constructor(reason: string, record: VerificationError['record'], detail: string = reason) {
    super(`The ${record} is not accepted: ${detail}`)
    this.reason = reason
    this.record = record
  }
}

/** The call cannot be made: an invalid value, an invalid address or a missing key. Nothing was sent. */
export class UsageError extends ChanceryError {
  override readonly name: string = 'UsageError'
  readonly kind = 'usage'
  /** A code where a program may react: `metadata_refused`. */
  readonly reason: string | undefined

  constructor(message: string, options: ErrorOptions & { readonly reason?: string } = {}) {
    super(message, options)
    this.reason = options.reason
  }
}
