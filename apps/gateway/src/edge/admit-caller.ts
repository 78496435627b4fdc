import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal, type GatewayRoute } from '@chancery/contract'
import { andThen, readTraceParent } from '@chancery/service-kit'
import type {
  Clock,
  Exchange,
  HttpResponse,
  Ids,
  Limiter,
  Log,
  MaybePromise,
  RequestHeaders,
  TraceParent,
} from '@chancery/service-kit'
import { type Access, type Caller, RefusedCaller, authenticate } from '../auth/access.ts'
import type { Quota, QuotaResult } from '../quota/proof-mark.ts'
import type { Deadline } from './deadline.ts'
import type { AuditContext, RequestAudit } from '../audit/request-audit.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { TrustSnapshot } from '../trust/snapshot.ts'
import type { RefusalAudit } from '../audit/refusal-audit.ts'
import type { SignatureChecks } from '../auth/signature-checks.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { CurrentTrust } from '../trust/trust-state.ts'

/** One request for a handler. */
export interface GatewayCall {
  readonly requestId: string
  readonly route: GatewayRoute
  readonly headers: RequestHeaders
  /** The trace of the caller, when it names exactly one in the right form. */
  readonly traceParent: TraceParent | undefined
  /** Path parameters as sent, not decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query as sent, without the question mark. */
  readonly query: string
  /** The policy and lists at the start of this request. A reload does not change them. */
  readonly trust: TrustSnapshot | undefined
  /** Handlers add the fields that the audit stores. */
  readonly context: AuditContext
  /** Reads the whole body, up to the size limit. */
  readBytes(): MaybePromise<Uint8Array>
  /** Reads the whole body and refuses content types other than JSON. */
  readBody(): MaybePromise<Uint8Array>
  /** Time left until the deadline. */
  remainingMs(): number
  /** Refuses after the deadline. Call it before every external effect. */
  checkDeadline(): void
  /** Sets whether a request was sent whose effect is not confirmed. A refusal at the deadline then reports it. */
  setOutcomeUncertain(isUncertain: boolean): void
}

/** A request of an authenticated client. */
export interface ClientCall extends GatewayCall {
  readonly client: ClientPolicy
}

export type PublicHandler = (call: GatewayCall) => MaybePromise<HttpResponse>
export type ClientHandler = (call: ClientCall) => MaybePromise<HttpResponse>

/** A route of the contract's table and its handler: `open` for any caller, `client` for authenticated clients. */
export type GatewayBinding =
  | { readonly route: GatewayRoute; readonly open: PublicHandler }
  | { readonly route: GatewayRoute; readonly client: ClientHandler }

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
  /** Template of the route. */
  readonly route: string
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
  await refusals.record({ requestId, method: raw.method ?? '', route, startedMs, address, traceId }, thrown)
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

export function toRetrySeconds(ms: number): number {
  return Math.min(60, Math.max(1, Math.ceil(ms / 1000)))
}

/** Digests by connection, because a certificate does not change and reading it again parses all of it. */
const peerCertificates = new WeakMap<TLSSocket, string | undefined>()

/** Returns SHA-256 of the client certificate of this connection, in lowercase hex. */
export function peerCertificate({ socket }: IncomingMessage): string | undefined {
  if (!('encrypted' in socket)) return undefined
  const secure = socket as TLSSocket
  if (peerCertificates.has(secure)) return peerCertificates.get(secure)
  const { fingerprint256 } = secure.getPeerCertificate()
  const digest = typeof fingerprint256 === 'string' ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined
  peerCertificates.set(secure, digest)
  return digest
}
