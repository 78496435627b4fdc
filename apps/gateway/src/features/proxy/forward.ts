import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_HEADER } from '@chancery/contract'
import type { GatewayOperation } from '@chancery/contract'
import { OutboundError, andThen } from '@chancery/service-kit'
import type { HttpResponse, MaybePromise } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { UPSTREAM_OUTCOMES } from '../../metrics.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import { admit, isHarmless } from './admit.ts'
import type { AdmittedRequest } from './admit.ts'
import type { ProxyParts } from './parts.ts'
import { NOT_SIGNED, readOperatorHeaders } from './operator-headers.ts'
import { toTarget } from './target.ts'
import { isLost, toClientResponse, upstreamRequestId } from './upstream-response.ts'

/** For the whole call, within the deadline of the request (protocol/gateway 12.4). */
const TOTAL_MS = 10_000

/**
 * GET, POST, DELETE /v1/networks/{network}/services/{operation}
 * Forwards one catalogued operation, with the checks in the order of protocol/gateway 12.1. The gateway connects only
 * after the last check, and sends nothing twice.
 */
export function forward(call: ClientCall, parts: ProxyParts): MaybePromise<HttpResponse> {
  const admitted = admit(call)
  const { operation } = admitted
  const target = toTarget(operation, call.query)
  return andThen(readOperationBody(operation, call, parts), (body) => {
    const signed = operation.admin ? readOperatorHeaders(call.headers) : NOT_SIGNED
    if (signed.keyId !== undefined) call.context.admin_key_id = signed.keyId
    return send(admitted, { target, body, signed: signed.pairs }, call, parts).then((response) => {
      call.context.upstream_status = response.status
      const theirId = upstreamRequestId(response)
      if (theirId !== undefined) call.context.upstream_request_id = theirId
      return counted(operation, parts, () =>
        // Not bound by the deadline, because the authority has executed the operation.
        toClientResponse(operation, response, theirId, (bytes, form) =>
          parts.reader.hasForm(bytes, form, { id: call.client.id, check: () => undefined }),
        ),
      )
    })
  })
}

/** Runs check 8. The bytes are checked and stay unchanged, because a signature covers numbers as they were written. */
function readOperationBody(
  operation: GatewayOperation,
  call: ClientCall,
  { reader }: Pick<ProxyParts, 'reader'>,
): MaybePromise<Uint8Array | undefined> {
  if (operation.method === 'GET') {
    return andThen(call.readBytes(), (bytes) => {
      if (bytes.length > 0) throw new GatewayRefusal('body_not_allowed')
      return undefined
    })
  }
  const caller = { id: call.client.id, check: () => call.checkDeadline() }
  return andThen(call.readBody(), (bytes) =>
    andThen(bytes.length === 0 ? 'other' : reader.kindOfBody(bytes, caller), (kind) => {
      if (kind === 'invalid') throw new GatewayRefusal('invalid_json')
      if (kind === 'other') throw new GatewayRefusal('body_object_required')
      return bytes
    }),
  )
}

interface PreparedRequest {
  readonly target: string
  readonly body: Uint8Array | undefined
  /** Operator headers as name, value pairs. */
  readonly signed: readonly string[]
}

/**
 * Sends exactly the headers of protocol/gateway 12.3. Of the caller's headers only the operator signature is sent, and
 * with GATEWAY_FORWARD_TRACEPARENT the trace.
 */
async function send(
  { network, operation }: AdmittedRequest,
  { target, body, signed }: PreparedRequest,
  call: ClientCall,
  { clock, metrics, authorities }: ProxyParts,
): Promise<UpstreamResponse> {
  const accept = operation.response === 'ndjson' ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json
  const headers = ['accept', accept, REQUEST_ID_HEADER, call.requestId, ...signed]
  if (body !== undefined) headers.push('content-type', CONTENT_TYPES.json)
  // A caller that received the deadline refusal may retry, so an operation that is not sent by then is not sent at all.
  call.checkDeadline()
  const startedMs = clock.monotonicMs()
  try {
    const response = await authorities.send(network, {
      method: operation.method,
      target,
      headers,
      traceParent: call.traceParent?.text,
      body,
      timeoutMs: Math.min(TOTAL_MS, call.remainingMs()),
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
function counted(
  operation: GatewayOperation,
  { metrics }: Pick<ProxyParts, 'metrics'>,
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
