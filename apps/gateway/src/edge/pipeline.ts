import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import { RawHeaders, after } from '@chancery/service-kit'
import type { Answer, Gatekeeper, RequestHeaders, Soon } from '@chancery/service-kit'
import { authenticate } from '../auth/access.ts'
import type { Caller } from '../auth/access.ts'
import type { Office } from '../office.ts'
import type { QuotaAnswer } from '../quota/quota.ts'
import type { ClientCall, GatewayBinding } from './call.ts'
import type { Deadline } from './deadline.ts'
import { answerFor } from './error-body.ts'
import { OpenCall, OpenClientCall } from './open-call.ts'
import type { Arrival } from './open-call.ts'
import type { RouteMatch } from './route-table.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly startedMs: number
  readonly match: RouteMatch
  readonly deadline: Deadline
}

type ClientBinding = Extract<GatewayBinding<Office>, { client: unknown }>

/**
 * Steps 6 to 12 of protocol/gateway 5.1. The first failing one decides the answer. Each goes on at once where nothing
 * waits: on the common way only the body does.
 */
export function answerExchange(exchange: Exchange, office: Office, gate: Gatekeeper): Soon<Answer> {
  const { request, requestId, match, deadline } = exchange
  const headers = new RawHeaders(request.rawHeaders)
  const { maxBodyBytes } = office.settings
  const arrival: Arrival = {
    request,
    requestId,
    match,
    deadline,
    headers,
    trust: office.book?.current,
    gate,
    maxBodyBytes,
  }
  const { binding } = match
  if ('open' in binding) return deadline.within(binding.open(new OpenCall(arrival), office))
  return after(deadline.within(admitCaller(exchange, headers, office)), (caller) => {
    const call = new OpenClientCall(arrival, caller.client)
    noteCaller(caller, call, request)
    return answerCaller(binding, call, exchange, office)
  })
}

/** The intent is kept first, the completion before the answer. */
function answerCaller(
  binding: ClientBinding,
  call: ClientCall,
  { request, requestId, startedMs, deadline }: Exchange,
  office: Office,
): Soon<Answer> {
  const { audit } = office
  const { path: route } = binding.route
  const audited = { requestId, method: request.method ?? '', route, startedMs, context: call.context }
  return after(deadline.within(audit.begin(audited)), () =>
    after(runAudited(binding, call, deadline, office), (answer) =>
      after(audit.complete(audited, answer.status ?? 200), () => answer),
    ),
  )
}

/** Also a refusal is an outcome the audit hears of before the caller does. */
function runAudited(binding: ClientBinding, call: ClientCall, deadline: Deadline, office: Office): Soon<Answer> {
  const refuse = (thrown: unknown): Answer => answerFor(thrown, call.requestId, office.log)
  try {
    const answer = deadline.within(handle(binding, call, office))
    return answer instanceof Promise ? answer.catch(refuse) : answer
  } catch (thrown) {
    return refuse(thrown)
  }
}

function handle(binding: ClientBinding, call: ClientCall, office: Office): Soon<Answer> {
  if (binding.route.credential === 'metrics' && !call.client.metrics) throw new GatewayRefusal('metrics_scope')
  return binding.client(call, office)
}

/** Steps 6 to 8: healthy state, credential, quota. */
function admitCaller(exchange: Exchange, headers: RequestHeaders, office: Office): Soon<Caller> {
  if (office.state?.isHealthy === false) throw new GatewayRefusal('state_unavailable')
  const { metrics, failures, failureTally, settings, clock } = office
  const route = exchange.match.binding.route.path
  const presented = {
    authorization: headers.all('authorization'),
    address: exchange.request.socket.remoteAddress ?? '',
    peerCertificate: peerCertificate(exchange.request),
  }
  const rules = {
    limiter: failures,
    perMinute: settings.authFailuresPerMinute,
    onFailure: () => {
      metrics.denied.increase()
      failureTally.note(route)
    },
    onThrottled: () => metrics.throttled.increase(),
  }
  const caller = authenticate(office.access(), presented, rules, clock.now())
  return after(caller, (known) => takeRequest(known, office))
}

function takeRequest(caller: Caller, { quota, metrics }: Office): Soon<Caller> {
  const { id: clientId, requestsPerMinute: limit } = caller.client
  const settle = (answer: QuotaAnswer): Caller => {
    if (answer === undefined) return caller
    metrics.quotaDenied.increase()
    throw new GatewayRefusal('client_quota', undefined, { retryAfterSeconds: toRetrySeconds(answer.retryAfterMs) })
  }
  return after(quota.take({ clientId, kind: 'requests', limit, cost: 1 }), settle)
}

export function toRetrySeconds(ms: number): number {
  return Math.min(60, Math.max(1, Math.ceil(ms / 1000)))
}

function noteCaller({ client, method }: Caller, call: ClientCall, request: IncomingMessage): void {
  const { context } = call
  context.client_id = client.id
  context.auth_method = method
  const revision = call.trust?.data.revision
  if (revision !== undefined) context.policy_revision = revision
  const given = call.headers.get('x-request-id')
  if (given !== undefined && REQUEST_ID_PATTERN.test(given)) context.client_request_id = given
  const certificate = peerCertificate(request)
  if (certificate !== undefined) context.peer_certificate_sha256 = certificate
}

/** By connection: a certificate does not change on it, and asking for it anew reads the whole of it. */
const peerCertificates = new WeakMap<TLSSocket, string | undefined>()

/** SHA-256 of the certificate this connection was opened with, in lowercase hex. */
function peerCertificate({ socket }: IncomingMessage): string | undefined {
  if (!('encrypted' in socket)) return undefined
  const secure = socket as TLSSocket
  if (peerCertificates.has(secure)) return peerCertificates.get(secure)
  const { fingerprint256 } = secure.getPeerCertificate()
  const digest = typeof fingerprint256 === 'string' ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined
  peerCertificates.set(secure, digest)
  return digest
}

export function isServerFailure(status: number): boolean {
  return status >= GATEWAY_ERRORS.internal.status
}
