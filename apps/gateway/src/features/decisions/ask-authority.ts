import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_HEADER } from '@chancery/contract'
import {
  JsonError,
  asJson,
  isJsonObject,
  member,
  readJsonBytes,
  signNodeProof,
  signOperatorRequest,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { OutboundError } from '@chancery/service-kit'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { AskingCall, DecisionParts, Question } from './decision-cache.ts'

const TOTAL_MS = 10_000
const MAX_RESPONSE_BYTES = 2_097_152
const EVALUATE = '/admin/boundary/evaluate'
const REQUEST = '/boundary/request'

interface SignedRequest {
  readonly target: string
  readonly body: JsonObject
  /** Operator headers as name, value pairs. */
  readonly headers: readonly string[]
}

/** Asks the authority of the question once. Returns the body of its 201, which is not verified yet. */
export async function askAuthority(
  question: Question,
  contextId: string,
  call: AskingCall,
  parts: DecisionParts,
): Promise<JsonObject> {
  const signed = await signQuestion(question, contextId, parts)
  call.checkDeadline()
  const response = await send(question, signed, call, parts)
  call.context.upstream_status = response.status
  const { status, body } = response
  if (status >= 300 && status < 400) throw refuse('redirect', parts)
  if (body === undefined) throw refuse('too_large', parts)
  const answer = status < 500 ? readAnswer(body, parts) : {}
  if (status === 201) {
    count('answered', parts)
    return answer
  }
  const code = refusalCode(answer)
  if (!isAboutQuestion(status, code)) throw refuse('error', parts)
  count('answered', parts)
  throw new GatewayRefusal('question_refused', { code })
}

/** As a relay with its certificate, or with the operator key. Each request has its own time and nonce. */
async function signQuestion(question: Question, contextId: string, parts: DecisionParts): Promise<SignedRequest> {
  const { network, basis, capability, requester, parameters, attributes, proof } = question
  const { signer, certificate } = network.decisions
  const audience = network.anchorTexts[network.primary.issuer] ?? ''
  const timestamp = writeInstant(parts.clock.now())
  const nonce = parts.ids.uuid()
  const asked: JsonObject = {
    ...asJson(basis),
    requested_capability: capability,
    ...(question.approval_id === undefined ? {} : { approval_id: question.approval_id }),
    context: {
      context_id: contextId,
      request_parameters: parameters,
      attributes,
      ...(requester === undefined ? {} : { requester_sovereign_id: requester }),
    },
  }
  if (certificate === undefined) {
    const request = { method: 'POST', path: EVALUATE, query: {}, audience, body: asked, timestamp, nonce }
    const headers = await signOperatorRequest(request, signer)
    return { target: EVALUATE, body: asked, headers: Object.entries(headers).flat() }
  }
  const body = {
    ...asked,
    ...(proof === undefined ? {} : { on_behalf_of: proof }),
    cert_id: certificate.cert_id,
    node_public_key: signer.publicKey,
    audience,
    action: 'boundary-request',
    timestamp,
    nonce,
  }
  return { target: REQUEST, body: await signNodeProof(body, signer), headers: [] }
}

async function send(
  { network }: Question,
  { target, body, headers }: SignedRequest,
  call: AskingCall,
  parts: DecisionParts,
): Promise<UpstreamResponse> {
  const { json } = CONTENT_TYPES
  const startedMs = parts.clock.monotonicMs()
  try {
    return await parts.authorities.send(network, {
      method: 'POST',
      target,
      headers: ['accept', json, REQUEST_ID_HEADER, call.requestId, 'content-type', json, ...headers],
      traceParent: call.traceParent?.text,
      caller: call.caller ?? `client ${call.client.id}`,
      body: toUtf8(writeJson(body)),
      timeoutMs: Math.min(TOTAL_MS, call.remainingMs()),
      maxBytes: MAX_RESPONSE_BYTES,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw refuse(error.kind === 'timeout' ? 'timeout' : 'unreachable', parts, error)
  } finally {
    parts.metrics.upstreamDuration.observe((parts.clock.monotonicMs() - startedMs) / 1000)
  }
}

function readAnswer(bytes: Uint8Array, parts: DecisionParts): JsonObject {
  try {
    const value = readJsonBytes(bytes)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw refuse('invalid', parts)
}

const REFUSALS = {
  redirect: 'authority_redirect',
  too_large: 'authority_response_too_large',
  error: 'authority_error',
  invalid: 'authority_invalid_response',
  timeout: 'authority_timeout',
  unreachable: 'authority_unreachable',
} as const

function refuse(outcome: keyof typeof REFUSALS, parts: DecisionParts, cause?: Error): GatewayRefusal {
  count(outcome, parts)
  return new GatewayRefusal(REFUSALS[outcome], undefined, cause === undefined ? {} : { cause })
}

function count(outcome: keyof typeof REFUSALS | 'answered', { metrics }: DecisionParts): void {
  metrics.upstreamRequests.with({ group: 'boundary', outcome }).increase()
}

function refusalCode(answer: JsonObject): string {
  const error = member(answer, 'error')
  const code = error !== undefined && isJsonObject(error) ? member(error, 'code') : undefined
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : ''
}

/** Other refusals are about the key, the certificate or the limits of this gateway. The caller cannot change them. */
function isAboutQuestion(status: number, code: string): boolean {
  if (code === '') return false
  if (status === 403) return code === 'attestation_not_bound' || code === 'attestation_untrusted'
  return status === 400 || status === 422
}
