import { CONTENT_TYPES, type GatewayOperation, GatewayRefusal, REQUEST_ID_HEADER } from '@chancery/contract'
import { type HttpResponse, type MaybePromise, OutboundError } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { UPSTREAM_OUTCOMES } from '../../metrics.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'
import { FairThread, INLINE_BODY_BYTES, type ThreadCaller } from '../../threads/fair-thread.ts'
import { type BodyKind, type ResponseForm, hasForm, kindOfBody } from './json-checks.ts'
import type { Core } from '../../core.ts'

/** Checks forwarded bodies and responses: short ones at once, long ones in a thread that callers share round robin. */
export class ProxyReader {
  readonly #thread = new FairThread('./checking-thread', import.meta.url)

  kindOfBody(bytes: Uint8Array, caller: ThreadCaller): MaybePromise<BodyKind> {
    if (bytes.length <= INLINE_BODY_BYTES) return kindOfBody(bytes)
    return this.#thread.call<BodyKind>(caller, 'kindOfBody', bytes)
  }

  hasForm(bytes: Uint8Array, form: ResponseForm, caller: ThreadCaller): MaybePromise<boolean> {
    if (bytes.length <= INLINE_BODY_BYTES) return hasForm(bytes, form)
    return this.#thread.call<boolean>(caller, 'hasForm', { bytes, form })
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}

/** Lists what a request to an authority uses. */
export interface ExchangeParts extends Pick<Core, 'authorities' | 'clock' | 'metrics'> {
  readonly reader: ProxyReader
}

/** For the whole call, within the deadline of the request (protocol/gateway 12.4). */
const TOTAL_MS = 10_000

export interface AdmittedRequest {
  readonly network: NetworkPolicy
  readonly operation: GatewayOperation
}

export interface PreparedRequest {
  readonly target: string
  readonly body: Uint8Array | undefined
  /** Operator headers, or the ETag of a cached document, as name, value pairs. */
  readonly more: readonly string[]
  /** For several callers, each with a deadline: the time of the first one does not limit the others. */
  readonly isShared?: boolean
}

/** Parts of a send. */
export type SendParts = Pick<ExchangeParts, 'authorities' | 'clock' | 'metrics'>

/**
 * Sends exactly the headers of protocol/gateway 12.3. Of the caller's headers only the operator signature is sent, and
 * with forward_traceparent the trace.
 */
export async function send(
  { network, operation }: AdmittedRequest,
  { target, body, more, isShared = false }: PreparedRequest,
  call: ClientCall,
  { clock, metrics, authorities }: SendParts,
): Promise<UpstreamResponse> {
  const accept = operation.response === 'ndjson' ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json
  const headers = ['accept', accept, REQUEST_ID_HEADER, call.requestId, ...more]
  if (body !== undefined) headers.push('content-type', CONTENT_TYPES.json)
  // A caller that received the deadline refusal may retry, so an operation that is not sent by then is not sent at all.
  if (!isShared) call.checkDeadline()
  const startedMs = clock.monotonicMs()
  try {
    const response = await authorities.send(network, {
      method: operation.method,
      target,
      headers,
      traceParent: call.traceParent?.text,
      // A document that is read for several callers is the gateway's.
      caller: isShared ? undefined : `client ${call.client.id}`,
      body,
      timeoutMs: isShared ? TOTAL_MS : Math.min(TOTAL_MS, call.remainingMs()),
      maxBytes: operation.max_response_bytes,
      onSend: () => call.setOutcomeUncertain(!isHarmless(operation)),
    })
    // The operation was executed. Until its response is sent, a refusal at the deadline must report an uncertain
    // outcome.
    call.setOutcomeUncertain(isLost(response.status) && !isHarmless(operation))
    return response
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const kind = error.kind === 'timeout' ? 'timeout' : 'unreachable'
    metrics.upstreamRequests.with({ group: operation.group, outcome: kind }).increase()
    throw new GatewayRefusal(kind === 'timeout' ? 'authority_timeout' : 'authority_unreachable', undefined, {
      isOutcomeUncertain: error.wasSent && !isHarmless(operation),
      cause: error,
    })
  } finally {
    metrics.upstreamDuration.observe((clock.monotonicMs() - startedMs) / 1000)
  }
}

type Outcome = (typeof UPSTREAM_OUTCOMES)[number]
const OUTCOMES: Readonly<Partial<Record<string, Outcome>>> = {
  authority_redirect: 'redirect',
  authority_error: 'error',
  authority_response_too_large: 'too_large',
  authority_invalid_response: 'invalid',
}

/** Counts the result: a response, or the refusal made from it. */
export function counted(
  operation: GatewayOperation,
  { metrics }: Pick<ExchangeParts, 'metrics'>,
  toResponse: () => MaybePromise<HttpResponse>,
): MaybePromise<HttpResponse> {
  const count = (outcome: Outcome): void =>
    metrics.upstreamRequests.with({ group: operation.group, outcome }).increase()
  const refuse = (error: unknown): never => {
    count(error instanceof GatewayRefusal ? (OUTCOMES[error.error] ?? 'answered') : 'answered')
    throw error
  }
  let response: MaybePromise<HttpResponse>
  try {
    response = toResponse()
  } catch (error) {
    return refuse(error)
  }
  const pass = (given: HttpResponse): HttpResponse => {
    count('answered')
    return given
  }
  return response instanceof Promise ? response.then(pass, refuse) : pass(response)
}

/** Returns whether the operation changes nothing at the authority. */
export function isHarmless({ id, method }: GatewayOperation): boolean {
  return method === 'GET' || /-(?:verify|prove)(?:-|$)/.test(id)
}

/**
 * Returns whether the effect is unknown without the response: the operation was executed, or the authority failed
 * during it. A 503 means that it did not start.
 */
export function isLost(status: number): boolean {
  return status < 300 || (status >= 500 && status !== 503)
}
