import type { IncomingMessage } from 'node:http'
import { GATEWAY_ERRORS, GatewayRefusal, type GatewayRoute, REQUEST_ID_PATTERN } from '@chancery/contract'
import { andThen, readTraceParent } from '@chancery/service-kit'
import type { Clock, Exchange, Ids, Limiter, Log, MaybePromise, RequestHeaders } from '@chancery/service-kit'
import type { RefusalAudit } from '../audit/refusal-audit.ts'
import type { RequestAudit } from '../audit/request-audit.ts'
import { type Access, type Caller, RefusedCaller, authenticate } from '../auth/access.ts'
import type { SignatureChecks } from '../auth/signature-checks.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Quota, QuotaResult } from '../quota/quota.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { CurrentTrust } from '../trust/trust-state.ts'
import type { ClientCall, Deadline, GatewayBinding } from './call.ts'
import { peerCertificate } from './client-tls.ts'
import { toRetrySeconds } from './error-body.ts'

/** Lists what the edge uses. Access and trust change with a reload; a request uses the values it started with. */
export interface EdgeParts {
  readonly settings: Pick<
    GatewaySettings,
    'maxInflight' | 'maxBodyBytes' | 'timeoutMs' | 'tlsMin' | 'authFailuresPerMinute' | 'accessLogEvery'
  >
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly access: () => Access
  /** Undefined in development mode, where callers send their own trust inputs. */
  readonly trust: CurrentTrust | undefined
  readonly state: Pick<DurableState, 'isHealthy'> | undefined
  readonly audit: RequestAudit
  readonly refusals: RefusalAudit
  readonly quota: Quota
  /** Counts failed authentications per address. */
  readonly failures: Limiter
  readonly checks: SignatureChecks
}

/** The request of a caller that presents its credential. */
export interface PresentedRequest {
  readonly exchange: Pick<Exchange<GatewayBinding>, 'raw' | 'requestId' | 'startedMs'>
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  readonly deadline: Deadline
}

/** Runs steps 6 to 8 of protocol/gateway 5.1: healthy state, credential, quota. Audits a refused caller. */
export function admitCaller(request: PresentedRequest, parts: EdgeParts): MaybePromise<Caller> {
  if (parts.state?.isHealthy === false) throw new GatewayRefusal('state_unavailable')
  const { failures, checks, settings, clock } = parts
  const { raw } = request.exchange
  const presented = {
    authorization: request.headers.all('authorization'),
    address: raw.socket.remoteAddress ?? '',
    peerCertificate: peerCertificate(raw),
    acceptsBasic: request.route.isOauth === true,
    isGone: () => raw.socket.destroyed || request.deadline.remainingMs === 0,
  }
  const rules = { limiter: failures, perMinute: settings.authFailuresPerMinute, checks }
  const refuse = (thrown: unknown): Promise<never> => recordRefused(thrown, presented.address, request, parts)
  try {
    const caller = authenticate(parts.access(), presented, rules, clock.now())
    const admitted = andThen(caller, (known) => claimQuota(known, parts))
    return admitted instanceof Promise ? admitted.catch(refuse) : admitted
  } catch (thrown) {
    return refuse(thrown)
  }
}

/** Counts and audits a refused caller before its response is sent. A failed audit does not change the response. */
async function recordRefused(
  thrown: unknown,
  address: string,
  { exchange: { raw, requestId, startedMs }, route, headers }: PresentedRequest,
  { metrics, refusals }: EdgeParts,
): Promise<never> {
  if (!(thrown instanceof RefusedCaller)) throw thrown
  const { error } = thrown
  if (GATEWAY_ERRORS[error].status === 401) metrics.denied.increase()
  else if (error === 'auth_throttled') metrics.throttled.increase()
  else if (error === 'client_quota') metrics.quotaDenied.increase()
  const traceId = readTraceParent(headers.all('traceparent'))?.traceId
  const { status, reason } = GATEWAY_ERRORS[error]
  const request = { requestId, method: raw.method ?? '', route: route.path, startedMs, address, traceId }
  await refusals.record(request, { status, reason, client: thrown.client })
  throw thrown
}

function claimQuota(caller: Caller, { quota }: EdgeParts): MaybePromise<Caller> {
  const { id: clientId, requestsPerMinute: limit } = caller.client
  const complete = (result: QuotaResult): Caller => {
    if (result === undefined) return caller
    throw new RefusedCaller('client_quota', caller.client, {
      retryAfterSeconds: toRetrySeconds(result.retryAfterMs),
    })
  }
  return andThen(quota.claim({ clientId, kind: 'requests', limit, cost: 1 }), complete)
}

/** Writes what the audit stores of a caller. */
export function auditCaller({ client, method }: Caller, call: ClientCall, request: IncomingMessage): void {
  const { context } = call
  context.client_id = client.id
  context.auth_method = method
  const revision = call.trust?.data.revision
  if (revision !== undefined) context.policy_revision = revision
  const given = call.headers.get('x-request-id')
  if (given !== undefined && REQUEST_ID_PATTERN.test(given)) context.client_request_id = given
  if (call.traceParent !== undefined) context.trace_id = call.traceParent.traceId
  const certificate = peerCertificate(request)
  if (certificate !== undefined) context.peer_certificate_sha256 = certificate
}
