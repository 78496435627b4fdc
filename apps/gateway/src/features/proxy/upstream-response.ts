import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import type { GatewayErrorName, GatewayOperation } from '@chancery/contract'
import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { HttpResponse, type MaybePromise, andThen } from '@chancery/service-kit'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { ResponseForm } from './json-checks.ts'
import { isHarmless, isLost } from './send.ts'

const MAX_BYTES = 65_536

/** Words, numbers and digests. A path or an address has other characters. */
const PLAIN = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Returns what an operator of the gateway may read of an authority that is not ready (protocol/gateway 13.1): named
 * members with plain values, never the location of its database.
 */
function readinessOf(body: Buffer | undefined): JsonObject | undefined {
  const details = detailsOf(body)
  if (details === undefined) return undefined
  const { status, database, signing_key, rate_limiter } = details
  const fingerprint = isJsonObject(signing_key) ? signing_key['fingerprint'] : undefined
  return {
    status: isPlain(status) ? status : 'not_ready',
    ...(isJsonObject(database) ? { database: plainMembers(database) } : {}),
    ...(isPlain(fingerprint) ? { signing_key: { fingerprint } } : {}),
    ...(isPlain(rate_limiter) ? { rate_limiter } : {}),
  }
}

function detailsOf(body: Buffer | undefined): JsonObject | undefined {
  // Read on the event loop, so the size is limited. A valid response has some hundred bytes.
  if (body === undefined || body.length > MAX_BYTES) return undefined
  try {
    const value = JSON.parse(body.toString('utf8')) as JsonValue
    const error = isJsonObject(value) ? value['error'] : undefined
    const details = isJsonObject(error) ? error['details'] : undefined
    return isJsonObject(details) ? details : undefined
  } catch {
    return undefined
  }
}

const DATABASE_MEMBERS = ['backend', 'writable', 'schema_version', 'expected_schema_version', 'error']

function plainMembers(database: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(database).filter(([name, value]) => DATABASE_MEMBERS.includes(name) && isPlain(value)),
  )
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean | null {
  if (typeof value === 'string') return PLAIN.test(value)
  return value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isSafeInteger(value))
}

const MAX_RETRY_SECONDS = 86_400
/** Longer responses are sent as bytes. */
const AS_TEXT_BYTES = 131_072

/**
 * Converts the response of the authority into the response for the caller (protocol/gateway 12.5). The bytes are
 * checked and forwarded unchanged, because writing them again would change numbers inside signed records. The text of a
 * failed authority is not forwarded.
 */
export function toClientResponse(
  operation: GatewayOperation,
  response: UpstreamResponse,
  theirId: string | undefined,
  hasForm: (bytes: Uint8Array, form: ResponseForm) => MaybePromise<boolean>,
): MaybePromise<HttpResponse> {
  const { status, body } = response
  const headers = forwardedHeaders(response, theirId)
  const isOutcomeUncertain = isLost(status) && !isHarmless(operation)
  const refuse = (error: GatewayErrorName, details?: JsonObject): GatewayRefusal =>
    new GatewayRefusal(error, details, { isOutcomeUncertain, ...(headers === undefined ? {} : { headers }) })
  if (status < 400 && status >= 300) throw refuse('authority_redirect')
  if (status >= 500) {
    const readiness = operation.id === 'health-readyz' && status === 503 ? readinessOf(body) : undefined
    throw refuse('authority_error', readiness === undefined ? undefined : { readiness })
  }
  if (body === undefined) throw refuse('authority_response_too_large')
  const isLines = operation.response === 'ndjson' && status < 300
  return andThen(hasForm(body, isLines ? 'json-lines' : 'json'), (isGood) => {
    if (!isGood) throw refuse('authority_invalid_response')
    // Valid UTF-8 is unchanged as a text, and a short text is sent in one piece with its headers.
    const whole = body.length > AS_TEXT_BYTES ? body : body.toString('utf8')
    return new HttpResponse(whole, isLines ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json, status, headers)
  })
}

/** Returns the request id of the authority when it is safe to repeat. */
export function upstreamRequestId({ headers }: UpstreamResponse): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : undefined
}

/** Returns the only two headers of the authority that are forwarded. */
export function forwardedHeaders(
  { headers }: UpstreamResponse,
  theirId: string | undefined,
): Readonly<Record<string, string>> | undefined {
  const retryAfter = headers['retry-after']
  if (theirId === undefined && retryAfter === undefined) return undefined
  const isSeconds =
    typeof retryAfter === 'string' && /^[0-9]{1,5}$/.test(retryAfter) && Number(retryAfter) <= MAX_RETRY_SECONDS
  return {
    ...(isSeconds ? { 'retry-after': retryAfter } : {}),
    ...(theirId === undefined ? {} : { 'x-upstream-request-id': theirId }),
  }
}
