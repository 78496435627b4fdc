import { CONTENT_TYPES, GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import { HttpResponse, json } from '@chancery/service-kit'
import { toRefusal } from '../../edge/error-body.ts'
import type { CHECK_RESULTS } from '../../metrics.ts'
import { type Dialect, REASON_HEADER } from './checked-request.ts'
import type { ResultHeaders } from './check-request.ts'

/** An answer that does not let a request pass. */
export interface CheckRefusal {
  readonly status: 401 | 403 | 503
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: HttpResponse
}

export function resultOfStatus(status: number): (typeof CHECK_RESULTS)[number] {
  if (status === 200) return 'allowed'
  if (status === 401) return 'unproven'
  return status === 403 ? 'refused' : 'unavailable'
}

export function allow(headers: ResultHeaders): HttpResponse {
  return new HttpResponse('', CONTENT_TYPES.json, 200, headers)
}

/** Limits of this gateway, and everything that is broken behind it. */
function isOwnTrouble(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/**
 * Turns what was thrown into 401, 403 or 503, the answers that every proxy understands. nginx makes 500 of a 503, so
 * the dialect `original` gets 403 with the reason `unavailable`.
 */
export function refuse(thrown: unknown, dialect: Dialect): CheckRefusal {
  const refusal = toRefusal(thrown) ?? new GatewayRefusal('internal')
  const entry = GATEWAY_ERRORS[refusal.error]
  const { message, reason } = entry
  if (isOwnTrouble(entry.status)) {
    const isOriginal = dialect === 'original'
    const shown = isOriginal ? 'unavailable' : reason
    const retry = isOriginal ? {} : { 'retry-after': String(refusal.retryAfterSeconds ?? 1) }
    return build(isOriginal ? 403 : 503, { code: 'service_unavailable', message, reason: shown }, retry)
  }
  if (entry.status === 401) {
    const challenge = { 'www-authenticate': `Chancery reason="${reason}"` }
    return build(401, { code: 'node_proof_required', message, reason }, challenge)
  }
  const known = entry.status === 403 ? entry : (STATUS_403[refusal.error] ?? entry)
  return build(403, { code: known.reason, message: known.message, reason: known.reason }, {}, refusal.details)
}

/** The authority refuses the question: it gave no decision, so nothing passes. */
const STATUS_403: Readonly<Record<string, { readonly reason: string; readonly message: string }>> = {
  question_refused: GATEWAY_ERRORS.decision_denied,
}

interface RefusalText {
  readonly code: string
  readonly message: string
  readonly reason: string
}

function build(
  status: CheckRefusal['status'],
  { code, message, reason }: RefusalText,
  more: Readonly<Record<string, string>>,
  details: GatewayRefusal['details'] = {},
): CheckRefusal {
  const headers = { [REASON_HEADER]: reason, ...more }
  const { body, contentType } = json({ error: { code, message, details: { ...details, reason } } })
  return { status, reason, headers, body: new HttpResponse(body, contentType, status, headers) }
}
