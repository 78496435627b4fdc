import type { AddressInfo } from 'node:net'
import { AccessLog, Edge, RawHeaders, checkRawRequest, readBodyBytes, toError } from '@chancery/service-kit'
import type { Exchange, Failure, HttpResponse, MaybePromise } from '@chancery/service-kit'
import { peerCertificate } from '../../edge/admit-caller.ts'
import type { GatewayBinding } from '../../edge/call.ts'
import { ClientTls } from '../../edge/client-tls.ts'
import { Deadline } from '../../edge/deadline.ts'
import { toRefusal } from '../../edge/error-body.ts'
import { EDGE_LIMITS } from '../../edge/server.ts'
import { RequestIds } from '../../edge/request-ids.ts'
import { type CallerSlots, RequestSlots } from '../../edge/request-slots.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'
import { allow, refuse, resultOfStatus } from './answer.ts'
import { checkRequest } from './check-request.ts'
import type { CheckedRequest, Dialect } from './checked-request.ts'
import { readOriginal } from './dialects.ts'
import type { CheckParts } from './parts.ts'

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
