import { type ErrorCode, GATEWAY_ERRORS, type GatewayErrorName, GatewayRefusal, Refusal } from '@chancery/contract'
import { HttpResponse, type Log, json, toError } from '@chancery/service-kit'
import { QuotaUnavailableError } from '../quota/quota.ts'
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

export function toRetrySeconds(ms: number): number {
  return Math.min(60, Math.max(1, Math.ceil(ms / 1000)))
}
