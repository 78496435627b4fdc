import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import { type Exchange, type MaybePromise, type RequestHeaders, andThen, readTraceParent } from '@chancery/service-kit'
import { type Caller, RefusedCaller, authenticate } from '../auth/access.ts'
import type { QuotaResult } from '../quota/quota.ts'
import type { GatewayBinding } from './call.ts'
import type { Deadline } from './deadline.ts'
import type { EdgeParts } from './edge-parts.ts'

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
