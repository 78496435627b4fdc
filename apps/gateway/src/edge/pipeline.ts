import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import { RawHeaders, after, endingWith, hasBody, toError } from '@chancery/service-kit'
import type { Answer, RequestHeaders, Soon } from '@chancery/service-kit'
import type { AuditedRequest } from '../audit/request-audit.ts'
import { RefusedCaller, authenticate } from '../auth/access.ts'
import type { Caller } from '../auth/access.ts'
import type { Office } from '../office.ts'
import type { QuotaAnswer } from '../quota/quota.ts'
import type { ClientCall, GatewayBinding } from './call.ts'
import type { Deadline } from './deadline.ts'
import { answerFor, toRefusal } from './error-body.ts'
import { OpenCall, OpenClientCall } from './open-call.ts'
import type { Arrival } from './open-call.ts'
import type { CallerPlaces, Places } from './places.ts'
import type { RouteMatch } from './route-table.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly startedMs: number
  readonly match: RouteMatch
  readonly deadline: Deadline
  readonly told: Told
}

/** What the line about a request needs to know of its way. */
export interface Told {
  caller: 'anonymous' | 'client'
  /** The audit has written the line of this request. */
  isWritten: boolean
}

type ClientBinding = Extract<GatewayBinding<Office>, { client: unknown }>

/**
 * Steps 4 to 12 of protocol/gateway 5.1. The first failing one decides the answer. Each goes on at once where nothing
 * waits: on the common way only the body does.
 */
export function answerExchange(exchange: Exchange, office: Office, places: Places): Soon<Answer> {
  const { request, requestId, match, deadline } = exchange
  const headers = new RawHeaders(request.rawHeaders)
  const { maxBodyBytes } = office.settings
  const arrival: Arrival = { request, requestId, match, deadline, headers, trust: office.book?.current, maxBodyBytes }
  const { binding } = match
  if ('open' in binding) {
    if (binding.route.admission === 'counted') places.checkRoom()
    return deadline.within(binding.open(new OpenCall(arrival), office))
  }
  return after(deadline.within(admitCaller(exchange, headers, office)), (caller) => {
    const own = places.ofClient(caller.client.id)
    const call = new OpenClientCall(arrival, caller.client, own)
    noteCaller(caller, call, request)
    exchange.told.caller = 'client'
    return answerCaller(binding, call, exchange, office, own)
  })
}

/** The intent is kept first, the completion before the answer. */
function answerCaller(
  binding: ClientBinding,
  call: ClientCall,
  { request, requestId, startedMs, deadline, told }: Exchange,
  office: Office,
  places: CallerPlaces,
): Soon<Answer> {
  const { audit } = office
  const { path: route } = binding.route
  const { caller } = told
  const audited: AuditedRequest = {
    requestId,
    method: request.method ?? '',
    route,
    startedMs,
    caller,
    context: call.context,
  }
  const work = (): Soon<Answer> => {
    // Without a body the work begins now, otherwise when it is there.
    if (!hasBody(request)) places.enter()
    return endingWith(
      () => handle(binding, call, office),
      () => places.leave(),
    )
  }
  return after(beginAudited(audited, deadline, office), () =>
    after(runAudited(work, audited, deadline, office), (answer) =>
      after(audit.complete(audited, answer.status ?? 200), () => {
        told.isWritten = true
        return answer
      }),
    ),
  )
}

/** An intent that is kept only after the deadline is completed all the same: its caller was told 408, no more. */
function beginAudited(audited: AuditedRequest, deadline: Deadline, { audit, log }: Office): Soon<void> {
  const begun = audit.begin(audited)
  const kept = deadline.within(begun)
  if (!(kept instanceof Promise)) return kept
  return kept.catch((thrown: unknown) => {
    if (toRefusal(thrown)?.error === 'deadline') {
      Promise.resolve(begun)
        .then(() => {
          audited.code = GATEWAY_ERRORS.deadline.reason
          return audit.complete(audited, GATEWAY_ERRORS.deadline.status)
        })
        .catch((error: unknown) => log.error('a late request is not in the audit', { error: toError(error) }))
    }
    throw thrown
  })
}

/** Also a refusal is an outcome the audit hears of before the caller does. */
function runAudited(
  work: () => Soon<Answer>,
  audited: AuditedRequest,
  deadline: Deadline,
  { log }: Office,
): Soon<Answer> {
  const refuse = (thrown: unknown): Answer => {
    const refusal = toRefusal(thrown)
    if (refusal?.isOutcomeUncertain === true) audited.context.outcome_uncertain = true
    audited.code = GATEWAY_ERRORS[refusal?.error ?? 'internal'].reason
    return answerFor(thrown, audited.requestId, log)
  }
  try {
    const answer = deadline.within(work())
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
  const { failures, checks, settings, clock } = office
  const { request, deadline } = exchange
  const presented = {
    authorization: headers.all('authorization'),
    address: request.socket.remoteAddress ?? '',
    peerCertificate: peerCertificate(request),
    isGone: () => request.socket.destroyed || deadline.remainingMs === 0,
  }
  const rules = { limiter: failures, perMinute: settings.authFailuresPerMinute, checks }
  const refuse = (thrown: unknown): Promise<never> => recordRefused(thrown, presented.address, exchange, office)
  try {
    const caller = authenticate(office.access(), presented, rules, clock.now())
    const admitted = after(caller, (known) => takeRequest(known, office))
    return admitted instanceof Promise ? admitted.catch(refuse) : admitted
  } catch (thrown) {
    return refuse(thrown)
  }
}

/** Every refusal leaves a trail before it is answered, within bounds; whatever becomes of the trail, the answer stays. */
async function recordRefused(
  thrown: unknown,
  address: string,
  { request, requestId, startedMs, match }: Exchange,
  { metrics, trail }: Office,
): Promise<never> {
  if (!(thrown instanceof RefusedCaller)) throw thrown
  const { error } = thrown
  if (GATEWAY_ERRORS[error].status === 401) metrics.denied.increase()
  else if (error === 'auth_throttled') metrics.throttled.increase()
  else if (error === 'client_quota') metrics.quotaDenied.increase()
  const { path: route } = match.binding.route
  await trail.record({ requestId, method: request.method ?? '', route, startedMs, address }, thrown)
  throw thrown
}

function takeRequest(caller: Caller, { quota }: Office): Soon<Caller> {
  const { id: clientId, requestsPerMinute: limit } = caller.client
  const settle = (answer: QuotaAnswer): Caller => {
    if (answer === undefined) return caller
    throw new RefusedCaller('client_quota', caller.client, {
      retryAfterSeconds: toRetrySeconds(answer.retryAfterMs),
    })
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
