import { CONTENT_TYPES, ERRORS, type ErrorCode, RETRY_AFTER_SECONDS, Refusal, type Route } from '@chancery/contract'
import { writeJson } from '@chancery/protocol'
import { HttpResponse } from './response.ts'

/** Creates the error response. An error that is not a refusal is a bug, and its text is not exposed. */
export function toErrorResponse(error: unknown, requestId: string, route?: Route): HttpResponse {
  const refusal = error instanceof Refusal ? error : new Refusal('internal_server_error')
  const status = statusOf(refusal.code, route)
  const body = writeJson({
    error: { code: refusal.code, message: refusal.message, details: refusal.details, request_id: requestId },
  })
  return new HttpResponse(body, CONTENT_TYPES.json, status, retryHeader(status, refusal.retryAfterSeconds))
}

export function statusOf(code: ErrorCode, route?: Route): number {
  return route?.statuses?.[code] ?? ERRORS[code].status
}

function retryHeader(status: number, seconds?: number): { readonly [name: string]: string } | undefined {
  if (status === 429) return { 'Retry-After': String(seconds ?? RETRY_AFTER_SECONDS) }
  return status === 503 ? { 'Retry-After': String(seconds ?? 1) } : undefined
}
