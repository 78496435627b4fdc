import {
  type GatewayErrorName,
  type GatewayRefusal,
  TOKEN_ERRORS,
  TokenRefusal,
  isTokenError,
} from '@chancery/contract'
import { HttpResponse, type Log, json, toError } from '@chancery/service-kit'
import { errorResponse, toRefusal } from '../../edge/error-body.ts'
import { QuotaUnavailableError } from '../../quota/quota.ts'

const RETRY_SECONDS = 60

/** Refusals of shared parts that have another name here. */
const NAMES: Partial<Readonly<Record<GatewayErrorName, keyof typeof TOKEN_ERRORS>>> = {
  body_too_large: 'body',
  decisions_not_configured: 'not_ready',
  quota_backend: 'nonces_unavailable',
}

/** What was thrown as a refusal of this endpoint. Undefined for a route that is off, which has the flat error body. */
export function toTokenRefusal(thrown: unknown): TokenRefusal | undefined {
  if (thrown instanceof TokenRefusal) return thrown
  if (thrown instanceof QuotaUnavailableError) return new TokenRefusal('nonces_unavailable', { cause: thrown })
  const refusal = toRefusal(thrown)
  if (refusal === undefined) return new TokenRefusal('internal', { cause: thrown })
  if (refusal.error === 'route_not_found') return undefined
  const name = NAMES[refusal.error] ?? refusal.error
  return new TokenRefusal(isTokenError(name) ? name : 'internal', optionsOf(refusal))
}

function optionsOf({ retryAfterSeconds, cause }: GatewayRefusal): { cause: unknown; retryAfterSeconds?: number } {
  return { cause, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) }
}

/** The answer for what was thrown. The cause of a bug is logged and not sent. */
export function refusalResponse(thrown: unknown, requestId: string, log: Log): HttpResponse {
  const refusal = toTokenRefusal(thrown)
  const flat = toRefusal(thrown)
  if (refusal === undefined && flat !== undefined) return errorResponse(flat, requestId)
  const known = refusal ?? new TokenRefusal('internal', { cause: thrown })
  if (known.error === 'internal') log.error('unexpected error', { request_id: requestId, error: toError(thrown) })
  const { status } = TOKEN_ERRORS[known.error]
  const { body, contentType } = json(known.toBody(requestId))
  return new HttpResponse(body, contentType, status, retryHeader(status, known))
}

function retryHeader(status: number, { retryAfterSeconds }: TokenRefusal): Readonly<Record<string, string>> {
  if (status !== 429 && status !== 503) return {}
  return { 'retry-after': String(retryAfterSeconds ?? RETRY_SECONDS) }
}
