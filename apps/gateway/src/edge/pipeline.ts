import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal, REQUEST_ID_PATTERN } from '@chancery/contract'
import { RawHeaders, andThen, withFinally, hasBody, toError } from '@chancery/service-kit'
import type { Exchange, HttpResponse, RequestHeaders, MaybePromise, RouteMatch } from '@chancery/service-kit'
import type { AuditedRequest } from '../audit/request-audit.ts'
import { RefusedCaller, authenticate } from '../auth/access.ts'
import type { Caller } from '../auth/access.ts'
import type { QuotaResult } from '../quota/quota.ts'
import type { ClientCall, GatewayBinding } from './call.ts'
import type { Deadline } from './deadline.ts'
import type { EdgeParts } from './edge-parts.ts'
import { responseFor, toRefusal } from './error-body.ts'
import { RequestCall, OpenClientCall } from './open-call.ts'
import type { IncomingRequest } from './open-call.ts'
import type { CallerSlots, RequestSlots } from './request-slots.ts'

export interface GatewayPipeline {
  readonly exchange: Exchange<GatewayBinding>
  readonly match: RouteMatch<GatewayBinding>
  readonly deadline: Deadline
}

type ClientBinding = Extract<GatewayBinding, { client: unknown }>

/**
 * Steps 4 to 12 of protocol/gateway 5.1. The first failing one decides the answer. Each goes on at once where nothing
 * waits: on the common way only the body does.
 */
export function respondInPipeline(
  pipeline: GatewayPipeline,
  parts: EdgeParts,
  slots: RequestSlots,
): MaybePromise<HttpResponse> {
  const { exchange, match, deadline } = pipeline
  const headers = new RawHeaders(exchange.raw.rawHeaders)
  const { maxBodyBytes } = parts.settings
  const arrival: IncomingRequest = {
    exchange,
    match,
    deadline,
    headers,
    trust: parts.trust?.current,
    maxBodyBytes,
  }
  const { binding } = match
  if ('open' in binding) {
    if (binding.route.admission === 'counted') slots.checkFreeSpace()
    return deadline.within(binding.open(new RequestCall(arrival)))
  }
  return andThen(deadline.within(admitCaller(pipeline, headers, parts)), (caller) => {
    const own = slots.ofClient(caller.client.id)
    const call = new OpenClientCall(arrival, caller.client, own)
    noteCaller(caller, call, exchange.raw)
    exchange.caller = 'client'
    return respondToCaller(binding, call, pipeline, parts, own)
  })
}

/** Stores the intent first, and the completion before the response is sent. */
function respondToCaller(
  binding: ClientBinding,
  call: ClientCall,
  { exchange, deadline }: GatewayPipeline,
  parts: EdgeParts,
  slots: CallerSlots,
): MaybePromise<HttpResponse> {
  const { audit } = parts
  const { path: route } = binding.route
  const { raw, requestId, startedMs } = exchange
  const audited: AuditedRequest = {
    requestId,
    method: raw.method ?? '',
    route,
    startedMs,
    caller: 'client',
    context: call.context,
  }
  const work = (): MaybePromise<HttpResponse> => {
    // Without a body the work begins now, otherwise when it is there.
    if (!hasBody(raw)) slots.enter()
    return withFinally(
      () => handle(binding, call),
      () => slots.leave(),
    )
  }
  return andThen(beginAudited(audited, deadline, parts), () =>
    andThen(runAudited(work, audited, deadline, parts), (answer) =>
      andThen(audit.complete(audited, answer.status ?? 200), () => {
        exchange.isLogged = true
        return answer
      }),
    ),
  )
}

/** Completes an intent that is stored only after the deadline, too: its caller got 408. */
function beginAudited(audited: AuditedRequest, deadline: Deadline, { audit, log }: EdgeParts): MaybePromise<void> {
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

/** Refusals are audited before the response is sent. */
function runAudited(
  work: () => MaybePromise<HttpResponse>,
  audited: AuditedRequest,
  deadline: Deadline,
  { log }: EdgeParts,
): MaybePromise<HttpResponse> {
  const refuse = (thrown: unknown): HttpResponse => {
    const refusal = toRefusal(thrown)
    if (refusal?.isOutcomeUncertain === true) audited.context.outcome_uncertain = true
    audited.code = GATEWAY_ERRORS[refusal?.error ?? 'internal'].reason
    return responseFor(thrown, audited.requestId, log)
  }
  try {
    const answer = deadline.within(work())
    return answer instanceof Promise ? answer.catch(refuse) : answer
  } catch (thrown) {
    return refuse(thrown)
  }
}

function handle(binding: ClientBinding, call: ClientCall): MaybePromise<HttpResponse> {
  if (binding.route.credential === 'metrics' && !call.client.metrics) throw new GatewayRefusal('metrics_scope')
  return binding.client(call)
}

/** Steps 6 to 8: healthy state, credential, quota. */
function admitCaller(pipeline: GatewayPipeline, headers: RequestHeaders, parts: EdgeParts): MaybePromise<Caller> {
  if (parts.state?.isHealthy === false) throw new GatewayRefusal('state_unavailable')
  const { failures, checks, settings, clock } = parts
  const {
    exchange: { raw: request },
    deadline,
  } = pipeline
  const presented = {
    authorization: headers.all('authorization'),
    address: request.socket.remoteAddress ?? '',
    peerCertificate: peerCertificate(request),
    isGone: () => request.socket.destroyed || deadline.remainingMs === 0,
  }
  const rules = { limiter: failures, perMinute: settings.authFailuresPerMinute, checks }
  const refuse = (thrown: unknown): Promise<never> => recordRefused(thrown, presented.address, pipeline, parts)
  try {
    const caller = authenticate(parts.access(), presented, rules, clock.now())
    const admitted = andThen(caller, (known) => serveRequest(known, parts))
    return admitted instanceof Promise ? admitted.catch(refuse) : admitted
  } catch (thrown) {
    return refuse(thrown)
  }
}

/** Every refusal leaves a trail before it is answered, within bounds; whatever becomes of the trail, the answer stays. */
async function recordRefused(
  thrown: unknown,
  address: string,
  { exchange: { raw, requestId, startedMs }, match }: GatewayPipeline,
  { metrics, refusals }: EdgeParts,
): Promise<never> {
  if (!(thrown instanceof RefusedCaller)) throw thrown
  const { error } = thrown
  if (GATEWAY_ERRORS[error].status === 401) metrics.denied.increase()
  else if (error === 'auth_throttled') metrics.throttled.increase()
  else if (error === 'client_quota') metrics.quotaDenied.increase()
  const { path: route } = match.binding.route
  await refusals.record({ requestId, method: raw.method ?? '', route, startedMs, address }, thrown)
  throw thrown
}

function serveRequest(caller: Caller, { quota }: EdgeParts): MaybePromise<Caller> {
  const { id: clientId, requestsPerMinute: limit } = caller.client
  const complete = (answer: QuotaResult): Caller => {
    if (answer === undefined) return caller
    throw new RefusedCaller('client_quota', caller.client, {
      retryAfterSeconds: toRetrySeconds(answer.retryAfterMs),
    })
  }
  return andThen(quota.claim({ clientId, kind: 'requests', limit, cost: 1 }), complete)
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

/** By connection: its certificate does not change, and reading it again parses all of it. */
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
