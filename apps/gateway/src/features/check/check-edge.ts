import type { AddressInfo } from 'node:net'
import {
  AccessLog,
  Edge,
  HttpResponse,
  RawHeaders,
  checkRawRequest,
  json,
  readBodyBytes,
  toError,
} from '@chancery/service-kit'
import type { Exchange, Failure, MaybePromise } from '@chancery/service-kit'
import { type GatewayBinding, peerCertificate } from '../../edge/admit-caller.ts'
import { ClientTls } from '../../edge/client-tls.ts'
import { Deadline, toRefusal } from '../../edge/deadline.ts'
import { EDGE_LIMITS, RequestIds } from '../../edge/server.ts'
import { type CallerSlots, RequestSlots } from '../../edge/request-slots.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'
import { type ResultHeaders, checkRequest } from './check-request.ts'
import { type CheckParts, type CheckedRequest, type Dialect, REASON_HEADER, readOriginal } from './checked-request.ts'
import { CONTENT_TYPES, GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import type { CHECK_RESULTS } from '../../metrics.ts'

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

function allow(headers: ResultHeaders): HttpResponse {
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

/** More than at the other listener, because every request of a site is one check. One proxy may use all of them. */
const CHECKS_AT_ONCE = 1024
const BODY_BUDGET_BYTES = 67_108_864

export interface CheckEdgeOptions {
  readonly dialect: Exclude<Dialect, 'grpc'>
  /** Undefined on a loopback address. */
  readonly tls: TlsMaterial | undefined
}

type Bound = GatewayBinding

/** The listener that reverse proxies ask. It has no other route. */
export class CheckEdge {
  readonly #parts: CheckParts
  readonly #dialect: CheckEdgeOptions['dialect']
  readonly #edge: Edge<Bound>
  readonly #slots = new RequestSlots({
    requests: CHECKS_AT_ONCE * 2,
    bodies: CHECKS_AT_ONCE,
    bodyBytes: BODY_BUDGET_BYTES,
  })
  readonly #tls: ClientTls | undefined

  constructor(parts: CheckParts, { dialect, tls }: CheckEdgeOptions) {
    this.#parts = parts
    this.#dialect = dialect
    this.#tls = tls === undefined ? undefined : new ClientTls(tls, parts.settings.tlsMin)
    const ids = new RequestIds(parts.ids)
    const { accessLogEvery: every } = parts.settings
    this.#edge = new Edge<Bound>({
      bindings: [],
      spelling: 'exact',
      servesHead: () => false,
      limits: EDGE_LIMITS,
      tls: this.#tls?.edge,
      fixedHeaders: { 'cache-control': 'no-store' },
      log: parts.log,
      access: new AccessLog({ log: parts.log, instance: ids.instance, every }),
      monotonicMs: () => parts.clock.monotonicMs(),
      nextRequestId: () => ids.next(),
      serve: (exchange) => this.#serve(exchange),
      toFailure: (error, requestId) => this.#toFailure(error, requestId),
      observe: (_route, status, seconds) => {
        parts.metrics.checks.with({ result: resultOfStatus(status) }).increase()
        parts.metrics.checkDuration.observe(seconds)
      },
      isProbe: () => false,
      successOf: () => 200,
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return this.#edge.listen(host, port)
  }

  replaceTls(tls: TlsMaterial): void {
    if (this.#tls !== undefined) this.#edge.replaceTls(this.#tls.replace(tls))
  }

  stopKeepAlive(): void {
    this.#edge.stopKeepAlive()
  }

  stopAccepting(): Promise<void> {
    return this.#edge.stopAccepting()
  }

  async #serve(exchange: Exchange<Bound>): Promise<HttpResponse> {
    const slots = this.#slots.ofClient('check')
    const deadline = new Deadline(this.#parts.settings.timeoutMs)
    try {
      slots.enter()
      const checked = this.#check(exchange, slots, deadline)
      return await deadline.within(checked)
    } finally {
      slots.leave()
      deadline.clear()
    }
  }

  async #check(exchange: Exchange<Bound>, slots: CallerSlots, deadline: Deadline): Promise<HttpResponse> {
    const { raw, requestId, startedMs } = exchange
    const asked = {
      requestId,
      startedMs,
      address: raw.socket.remoteAddress ?? '',
      peerCertificate: peerCertificate(raw),
      isSecure: this.#tls !== undefined,
      deadline,
    }
    checkRawRequest(raw)
    const headers = await checkRequest(this.#read(exchange, slots), asked, this.#parts)
    // The audit has written the log line of this request.
    exchange.isLogged = true
    return allow(headers)
  }

  #read(exchange: Exchange<Bound>, slots: CallerSlots): CheckedRequest {
    const { raw } = exchange
    const headers = new RawHeaders(raw.rawHeaders)
    const asked = { method: raw.method ?? '', target: raw.url ?? '', headers }
    return {
      dialect: this.#dialect,
      ...readOriginal(this.#dialect, asked),
      names: raw.rawHeaders.filter((_text, index) => index % 2 === 0),
      all: (name) => headers.all(name),
      body: () => this.#readBody(exchange, slots),
    }
  }

  #readBody(exchange: Exchange<Bound>, slots: CallerSlots): MaybePromise<Uint8Array> {
    exchange.requestBody()
    return readBodyBytes(exchange.raw, this.#parts.settings.maxBodyBytes, slots)
  }

  #toFailure(error: unknown, requestId: string): Failure {
    if (toRefusal(error) === undefined)
      this.#parts.log.error('unexpected error', { request_id: requestId, error: toError(error) })
    const { body, reason } = refuse(error, this.#dialect)
    return { response: body, code: reason, cause: error }
  }
}
