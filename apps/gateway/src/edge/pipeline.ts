import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import { RawHeaders, checkCoding, readBodyBytes, toError } from '@chancery/service-kit'
import type { Answer, Gatekeeper, RequestHeaders, Soon } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import { authenticate } from '../auth/access.ts'
import type { Caller } from '../auth/access.ts'
import type { Office } from '../office.ts'
import type { QuotaAnswer } from '../quota/quota.ts'
import type { ClientCall, GatewayBinding, GatewayCall } from './call.ts'
import type { Deadline } from './deadline.ts'
import { errorAnswer, toRefusal } from './error-body.ts'
import type { RouteMatch } from './route-table.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly startedMs: number
  readonly match: RouteMatch
  readonly deadline: Deadline
}

/** Steps 6 to 12 of protocol/gateway 5.1. The first failing one decides the answer. */
export async function answerExchange(exchange: Exchange, office: Office, gate: Gatekeeper): Promise<Answer> {
  const { match, deadline } = exchange
  const { binding } = match
  const headers = new RawHeaders(exchange.request.rawHeaders)
  const context: AuditContext = {}
  const readBytes = async (): Promise<Uint8Array> => readBodyBytes(exchange.request, office.settings.maxBodyBytes, gate)
  const call: GatewayCall = {
    requestId: exchange.requestId,
    route: binding.route,
    headers,
    params: match.params,
    query: match.query,
    trust: office.book?.current,
    context,
    readBytes,
    readBody: async () => {
      const bytes = await readBytes()
      checkCoding(headers)
      return bytes
    },
    remainingMs: () => deadline.remainingMs,
  }
  if ('open' in binding) return deadline.within(binding.open(call, office))
  const caller = await deadline.within(admitCaller(exchange, headers, office))
  noteCaller(context, caller, call, exchange.request)
  const audited = {
    requestId: exchange.requestId,
    method: exchange.request.method ?? '',
    route: binding.route.path,
    startedMs: exchange.startedMs,
    context,
  }
  await deadline.within(office.audit.begin(audited))
  const answer = await runAudited(
    () => deadline.within(handle(binding, { ...call, client: caller.client }, office)),
    call,
    office,
  )
  await office.audit.complete(audited, answer.status ?? 200)
  return answer
}

function handle(
  binding: Extract<GatewayBinding<Office>, { client: unknown }>,
  call: ClientCall,
  office: Office,
): Soon<Answer> {
  if (binding.route.credential === 'metrics' && !call.client.metrics) throw new GatewayRefusal('metrics_scope')
  return binding.client(call, office)
}

/** Also a refusal is an outcome the audit hears of before the caller does. */
async function runAudited(run: () => Soon<Answer>, { requestId }: GatewayCall, { log }: Office): Promise<Answer> {
  try {
    return await run()
  } catch (thrown) {
    const refusal = toRefusal(thrown)
    if (refusal === undefined) log.error('unexpected error', { request_id: requestId, error: toError(thrown) })
    return errorAnswer(refusal ?? new GatewayRefusal('internal'), requestId)
  }
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
  return caller instanceof Promise ? caller.then((known) => takeRequest(known, office)) : takeRequest(caller, office)
}

function takeRequest(caller: Caller, { quota, metrics }: Office): Soon<Caller> {
  const { id: clientId, requestsPerMinute: limit } = caller.client
  const settle = (answer: QuotaAnswer): Caller => {
    if (answer === undefined) return caller
    metrics.quotaDenied.increase()
    throw new GatewayRefusal('client_quota', undefined, { retryAfterSeconds: toRetrySeconds(answer.retryAfterMs) })
  }
  const answer = quota.take({ clientId, kind: 'requests', limit, cost: 1 })
  return answer instanceof Promise ? answer.then(settle) : settle(answer)
}

export function toRetrySeconds(ms: number): number {
  return Math.min(60, Math.max(1, Math.ceil(ms / 1000)))
}

function noteCaller(
  context: AuditContext,
  { client, method }: Caller,
  call: GatewayCall,
  request: IncomingMessage,
): void {
  context.client_id = client.id
  context.auth_method = method
  const revision = call.trust?.data.revision
  if (revision !== undefined) context.policy_revision = revision
  const given = call.headers.get('x-request-id')
  if (given !== undefined && REQUEST_ID_PATTERN.test(given)) context.client_request_id = given
  const certificate = peerCertificate(request)
  if (certificate !== undefined) context.peer_certificate_sha256 = certificate
}

/** SHA-256 of the certificate this connection was opened with, in lowercase hex. */
function peerCertificate({ socket }: IncomingMessage): string | undefined {
  if (!('encrypted' in socket)) return undefined
  const { fingerprint256 } = (socket as TLSSocket).getPeerCertificate()
  return typeof fingerprint256 === 'string' ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined
}

export function isServerFailure(status: number): boolean {
  return status >= GATEWAY_ERRORS.internal.status
}
