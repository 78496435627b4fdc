import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_HEADER } from '@chancery/contract'
import type { GatewayOperation } from '@chancery/contract'
import { after } from '@chancery/service-kit'
import type { Answer, Soon } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { UPSTREAM_OUTCOMES } from '../../metrics.ts'
import type { Office } from '../../office.ts'
import { OutboundFailure } from '../../outbound/call-url.ts'
import type { UpstreamAnswer } from '../../outbound/upstream-exchange.ts'
import { admit, isHarmless } from './admit.ts'
import type { Admitted } from './admit.ts'
import { NOT_SIGNED, readOperatorHeaders } from './operator-headers.ts'
import { toTarget } from './target.ts'
import { isLost, passOn, upstreamRequestId } from './upstream-answer.ts'

/** In whole, within the deadline of the request (protocol/gateway 12.4). */
const TOTAL_MS = 10_000

/**
 * GET, POST, DELETE /v1/networks/{network}/services/{operation}
 * Forwards one catalogued operation, its checks in the order of protocol/gateway 12.1. Nothing is connected before the
 * last of them, and nothing is sent twice.
 */
export function forward(call: ClientCall, office: Office): Soon<Answer> {
  const admitted = admit(call)
  const { operation } = admitted
  const target = toTarget(operation, call.query)
  return after(readOperationBody(operation, call, office), (body) => {
    const signed = operation.admin ? readOperatorHeaders(call.headers) : NOT_SIGNED
    if (signed.keyId !== undefined) call.context.admin_key_id = signed.keyId
    return send(admitted, { target, body, signed: signed.pairs }, call, office).then((answer) => {
      call.context.upstream_status = answer.status
      const theirId = upstreamRequestId(answer)
      if (theirId !== undefined) call.context.upstream_request_id = theirId
      return counted(operation, office, () =>
        // Waited for even when it is late: the authority has done it.
        passOn(operation, answer, theirId, (bytes, form) =>
          office.proxyReader.hasForm(bytes, form, { id: call.client.id, check: () => undefined }),
        ),
      )
    })
  })
}

/** Check 8. The bytes are judged and stay as they are: a signature covers numbers as they were written. */
function readOperationBody(
  operation: GatewayOperation,
  call: ClientCall,
  { proxyReader }: Office,
): Soon<Uint8Array | undefined> {
  if (operation.method === 'GET') {
    return after(call.readBytes(), (bytes) => {
      if (bytes.length > 0) throw new GatewayRefusal('body_not_allowed')
      return undefined
    })
  }
  const holder = { id: call.client.id, check: () => call.checkDeadline() }
  return after(call.readBody(), (bytes) =>
    after(bytes.length === 0 ? 'other' : proxyReader.kindOfBody(bytes, holder), (kind) => {
      if (kind === 'invalid') throw new GatewayRefusal('invalid_json')
      if (kind === 'other') throw new GatewayRefusal('body_object_required')
      return bytes
    }),
  )
}

interface Prepared {
  readonly target: string
  readonly body: Uint8Array | undefined
  /** Operator headers, names and values in turn. */
  readonly signed: readonly string[]
}

/** Sends exactly the headers of protocol/gateway 12.3 and no other: nothing of the caller's but its signature. */
async function send(
  { network, operation }: Admitted,
  { target, body, signed }: Prepared,
  call: ClientCall,
  { clock, metrics, authorities }: Office,
): Promise<UpstreamAnswer> {
  const accept = operation.response === 'ndjson' ? CONTENT_TYPES['json-lines'] : CONTENT_TYPES.json
  const headers = ['accept', accept, REQUEST_ID_HEADER, call.requestId, ...signed]
  if (body !== undefined) headers.push('content-type', CONTENT_TYPES.json)
  // Whoever was told that the time is over may try again: what was not sent by then is not sent at all.
  call.checkDeadline()
  const startedMs = clock.monotonicMs()
  try {
    const answer = await authorities.send(network, {
      method: operation.method,
      target,
      headers,
      body,
      timeoutMs: Math.min(TOTAL_MS, call.remainingMs()),
      maxBytes: operation.max_response_bytes,
      onSend: () => call.setOutcomeUncertain(!isHarmless(operation)),
    })
    // It was done: until its answer has left, a refusal at the deadline would hide that.
    call.setOutcomeUncertain(isLost(answer.status) && !isHarmless(operation))
    return answer
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
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

/** Counts what became of it: an answer, or the refusal it was turned into. */
function counted(operation: GatewayOperation, { metrics }: Office, judge: () => Soon<Answer>): Soon<Answer> {
  const count = (outcome: Outcome): void =>
    metrics.upstreamRequests.with({ group: operation.group, outcome }).increase()
  const refuse = (error: unknown): never => {
    count(error instanceof GatewayRefusal ? (OUTCOMES[error.error] ?? 'answered') : 'answered')
    throw error
  }
  let answer: Soon<Answer>
  try {
    answer = judge()
  } catch (error) {
    return refuse(error)
  }
  const pass = (given: Answer): Answer => {
    count('answered')
    return given
  }
  return answer instanceof Promise ? answer.then(pass, refuse) : pass(answer)
}
