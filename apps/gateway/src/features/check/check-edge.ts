import { CONTENT_TYPES, GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import {
  Capacity,
  HttpResponse,
  RawHeaders,
  checkRawRequest,
  json,
  readBodyBytes,
  toError,
} from '@chancery/service-kit'
import type { Exchange, Log } from '@chancery/service-kit'
import { CallerSlots, type GatewayBinding, type GatewayPool } from '../../edge/call.ts'
import { peerCertificate } from '../../edge/client-tls.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { GatewayListener } from '../../edge/server.ts'
import type { CHECK_RESULTS } from '../../metrics.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'
import { runCheck } from './check-request.ts'
import { APPROVAL_HEADERS, REASON_HEADER, readOriginal } from './checked-request.ts'
import type { CheckParts, CheckedRequest, Dialect } from './checked-request.ts'

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

/** Limits of this gateway, and everything that is broken behind it. */
function isOwnTrouble(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/**
 * Turns what was thrown into 401, 403 or 503, the answers that every proxy understands. nginx makes 500 of a 503, so
 * the dialect `original` gets 403 with the reason `unavailable`. The cause of a bug is logged and not sent.
 */
export function refuse(thrown: unknown, dialect: Dialect, requestId: string, log: Log): CheckRefusal {
  const known = toRefusal(thrown)
  if (known === undefined) log.error('unexpected error', { request_id: requestId, error: toError(thrown) })
  const refusal = known ?? new GatewayRefusal('internal')
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
  const shown = entry.status === 403 ? entry : (STATUS_403[refusal.error] ?? entry)
  const more = refusal.error === 'approval_required' ? approvalHeaders(refusal) : {}
  return build(403, { code: shown.reason, message: shown.message, reason: shown.reason }, more, refusal.details)
}

function approvalHeaders({ details = {}, retryAfterSeconds = 1 }: GatewayRefusal): Readonly<Record<string, string>> {
  const { approval_id, state } = details
  return {
    [APPROVAL_HEADERS.id]: typeof approval_id === 'string' ? approval_id : '',
    [APPROVAL_HEADERS.state]: typeof state === 'string' ? state : '',
    'retry-after': String(retryAfterSeconds),
  }
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

/** More than at the other listener, because every request of a site is one check. One proxy may use all of them. */
const CHECKS_AT_ONCE = 1024
const BODY_BUDGET_BYTES = 67_108_864

/** Creates the slots of one listener for checks. One proxy gets two thirds. */
export function checkSlots(): () => CallerSlots {
  const pools = { requests: CHECKS_AT_ONCE * 2, bodies: CHECKS_AT_ONCE, bodyBytes: BODY_BUDGET_BYTES }
  const capacity = new Capacity<GatewayPool>(pools, 2)
  return () => new CallerSlots(capacity, 'check')
}

/** Creates the listener that reverse proxies ask. It has no route. `tls` is undefined on a loopback address. */
export function createCheckListener(
  parts: CheckParts,
  dialect: Exclude<Dialect, 'grpc'>,
  tls: TlsMaterial | undefined,
): GatewayListener {
  const slotsOfCheck = checkSlots()
  return new GatewayListener(parts, tls, {
    bindings: [],
    fixedHeaders: { 'cache-control': 'no-store' },
    serve: async (exchange) => {
      const { raw, requestId, startedMs } = exchange
      const address = raw.socket.remoteAddress ?? ''
      const asked = {
        requestId,
        startedMs,
        address,
        peerCertificate: peerCertificate(raw),
        isSecure: tls !== undefined,
      }
      const slots = slotsOfCheck()
      const read = (): CheckedRequest => readRequest(exchange, dialect, slots, parts)
      const headers = await runCheck(read, asked, slots, parts)
      // The audit has written the log line of this request.
      exchange.isLogged = true
      return new HttpResponse('', CONTENT_TYPES.json, 200, headers)
    },
    toFailure: (error, requestId) => {
      const { body, reason } = refuse(error, dialect, requestId, parts.log)
      return { response: body, code: reason, cause: error }
    },
    observe: (_route, status, seconds) => {
      parts.metrics.checks.with({ result: resultOfStatus(status) }).increase()
      parts.metrics.checkDuration.observe(seconds)
    },
    isProbe: () => false,
  })
}

function readRequest(
  exchange: Exchange<GatewayBinding>,
  dialect: Exclude<Dialect, 'grpc'>,
  slots: CallerSlots,
  { settings }: CheckParts,
): CheckedRequest {
  const { raw } = exchange
  checkRawRequest(raw)
  const headers = new RawHeaders(raw.rawHeaders)
  return {
    dialect,
    ...readOriginal(dialect, { method: raw.method ?? '', target: raw.url ?? '', headers }),
    names: raw.rawHeaders.filter((_text, index) => index % 2 === 0),
    all: (name) => headers.all(name),
    body: () => {
      exchange.requestBody()
      return readBodyBytes(raw, settings.maxBodyBytes, slots)
    },
  }
}
