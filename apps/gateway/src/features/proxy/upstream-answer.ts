import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import type { GatewayErrorName, GatewayOperation } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { Answer, after } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { UpstreamAnswer } from '../../outbound/upstream-exchange.ts'
import { isHarmless } from './admit.ts'
import type { AnswerForm } from './json-checks.ts'
import { readinessOf } from './readiness-details.ts'

const MAX_RETRY_SECONDS = 86_400
/** Longer answers leave as the bytes they came in. */
const AS_TEXT_BYTES = 131_072

/**
 * What the caller gets for what the authority said (protocol/gateway 12.5). The bytes are checked and passed on as they
 * came: writing them anew would change numbers inside signed records. Nothing of a failed authority's text leaves.
 */
export function passOn(
  operation: GatewayOperation,
  answer: UpstreamAnswer,
  theirId: string | undefined,
  hasForm: (bytes: Uint8Array, form: AnswerForm) => Soon<boolean>,
): Soon<Answer> {
  const { status, body } = answer
  const headers = keptHeaders(answer, theirId)
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
  return after(hasForm(body, isLines ? 'json-lines' : 'json'), (isGood) => {
    if (!isGood) throw refuse('authority_invalid_response')
    // Valid UTF-8 keeps its bytes through a text, and a short text leaves in one piece with its head.
    const whole = body.length > AS_TEXT_BYTES ? body : body.toString('utf8')
    return new Answer(whole, isLines ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json, status, headers)
  })
}

/** What the authority calls this request, when that can be repeated safely. */
export function upstreamRequestId({ headers }: UpstreamAnswer): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : undefined
}

/** Of the authority's headers only these two survive. */
function keptHeaders(
  { headers }: UpstreamAnswer,
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

/** Without its answer nobody knows: it was done, or the authority failed on the way. A 503 says that it did not begin. */
export function isLost(status: number): boolean {
  return status < 300 || (status >= 500 && status !== 503)
}
