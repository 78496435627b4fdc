import { GatewayRefusal, OPERATOR_HEADERS, REQUEST_ID_HEADER } from '@chancery/contract'
import type { GatewayOperation } from '@chancery/contract'
import { JsonError, isJsonObject, readJsonBytes } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { UPSTREAM_OUTCOMES } from '../../metrics.ts'
import type { Office } from '../../office.ts'
import { OutboundFailure } from '../../outbound/call-url.ts'
import type { UpstreamAnswer } from '../../outbound/upstream-exchange.ts'
import { admit } from './admit.ts'
import type { Admitted } from './admit.ts'
import { readOperatorHeaders } from './operator-headers.ts'
import { toTarget } from './target.ts'
import { passOn, upstreamRequestId } from './upstream-answer.ts'

/** In whole, within the deadline of the request (protocol/gateway 12.4). */
const TOTAL_MS = 10_000
/** Bounded by the body; the same limits as for the verify routes. */
const BODY_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 10_000 }

/**
 * GET, POST, DELETE /v1/networks/{network}/services/{operation}
 * Forwards one catalogued operation, its checks in the order of protocol/gateway 12.1. Nothing is connected before the
 * last of them, and nothing is sent twice.
 */
export async function forward(call: ClientCall, office: Office): Promise<Answer> {
  const admitted = admit(call)
  const { operation } = admitted
  const target = toTarget(operation, call.query)
  const body = await readOperationBody(operation, call)
  const signed = operation.admin ? readOperatorHeaders(call.headers) : {}
  const keyId = signed[OPERATOR_HEADERS.keyId]
  if (keyId !== undefined) call.context.admin_key_id = keyId
  const answer = await send(admitted, { target, body, signed }, call, office)
  call.context.upstream_status = answer.status
  const theirId = upstreamRequestId(answer)
  if (theirId !== undefined) call.context.upstream_request_id = theirId
  return counted(operation, office, () => passOn(operation, answer))
}

/** Check 8. The bytes are judged and stay as they are: a signature covers numbers as they were written. */
async function readOperationBody(operation: GatewayOperation, call: ClientCall): Promise<Uint8Array | undefined> {
  if (operation.method === 'GET') {
    if ((await call.readBytes()).length > 0) throw new GatewayRefusal('body_not_allowed')
    return undefined
  }
  const bytes = await call.readBody()
  if (bytes.length === 0 || !isJsonObject(readStrictly(bytes))) throw new GatewayRefusal('body_object_required')
  return bytes
}

function readStrictly(bytes: Uint8Array): JsonValue {
  try {
    return readJsonBytes(bytes, BODY_LIMITS)
  } catch (error) {
    if (error instanceof JsonError) throw new GatewayRefusal('invalid_json', undefined, { cause: error })
    throw error
  }
}

interface Prepared {
  readonly target: string
  readonly body: Uint8Array | undefined
  readonly signed: Readonly<Record<string, string>>
}

/** Sends exactly the headers of protocol/gateway 12.3 and no other: nothing of the caller's but its signature. */
async function send(
  { network, operation }: Admitted,
  { target, body, signed }: Prepared,
  call: ClientCall,
  office: Office,
): Promise<UpstreamAnswer> {
  const { clock, metrics, authorities } = office
  const startedMs = clock.monotonicMs()
  try {
    return await authorities.send(network, {
      method: operation.method,
      target,
      headers: {
        accept: operation.response === 'ndjson' ? 'application/x-ndjson' : 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        [REQUEST_ID_HEADER]: call.requestId,
        ...signed,
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: Math.min(TOTAL_MS, call.remainingMs()),
      maxBytes: operation.max_response_bytes,
    })
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    const kind = error.kind === 'timeout' ? 'timeout' : 'unreachable'
    metrics.upstreamRequests.with({ group: operation.group, outcome: kind }).increase()
    throw new GatewayRefusal(kind === 'timeout' ? 'authority_timeout' : 'authority_unreachable', undefined, {
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

async function counted(operation: GatewayOperation, office: Office, judge: () => Promise<Answer>): Promise<Answer> {
  let outcome: Outcome = 'answered'
  try {
    return await judge()
  } catch (error) {
    if (error instanceof GatewayRefusal) outcome = OUTCOMES[error.error] ?? outcome
    throw error
  } finally {
    office.metrics.upstreamRequests.with({ group: operation.group, outcome }).increase()
  }
}
