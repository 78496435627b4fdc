import { GATEWAY_ERRORS, GatewayRefusal } from '@chancery/contract'
import { contentDigest } from '@chancery/protocol'
import { readTraceParent } from '@chancery/service-kit'
import type { AuditedRequest } from '../../audit/request-audit.ts'
import { type CallerSlots, Deadline } from '../../edge/call.ts'
import { toRefusal } from '../../edge/error-body.ts'
import type { CheckPolicy } from '../../policy/policy.ts'
import type { AskingCall } from '../decisions/index.ts'
import { CHECK_PREFIX, RESULT_HEADERS, isRefusedHeader, reportedBody } from './checked-request.ts'
import type { CheckParts, CheckedRequest } from './checked-request.ts'
import { decideRoute } from './decide-route.ts'
import { type MatchedRoute, matchRoute } from './match-route.ts'
import { type CheckContext, type ProvenNode, verifyCaller } from './verify-caller.ts'

/** Facts of the connection that asked. */
interface Asked {
  readonly requestId: string
  readonly startedMs: number
  /** Address of the proxy. */
  readonly address: string
  /** SHA-256 of the client certificate of the proxy. Undefined on a loopback listener without TLS. */
  readonly peerCertificate: string | undefined
  readonly isSecure: boolean
  readonly deadline: Deadline
}

/** The headers of an answer that lets a request pass, by name. */
export type ResultHeaders = Readonly<Record<string, string>>

/**
 * Checks one request of a proxy in a slot, until its deadline. Returns the headers for the service behind it; everything
 * else throws, so that an error never lets a request pass.
 */
export async function runCheck(
  read: () => CheckedRequest,
  asked: Omit<Asked, 'deadline'>,
  slots: CallerSlots,
  parts: CheckParts,
): Promise<ResultHeaders> {
  const deadline = new Deadline(parts.settings.timeoutMs)
  try {
    slots.enter()
    return await deadline.within(checkRequest(read(), { ...asked, deadline }, parts))
  } finally {
    slots.leave()
    deadline.clear()
  }
}

async function checkRequest(request: CheckedRequest, asked: Asked, parts: CheckParts): Promise<ResultHeaders> {
  const settled = parts.trust?.settled()
  if (settled instanceof Promise) await settled
  const check = openCheck(asked, parts)
  check.context.dialect = request.dialect
  const traceParent = readTraceParent(request.all('traceparent'))
  if (traceParent !== undefined) check.context.trace_id = traceParent.traceId
  const node = await recordStrangers(request, { ...asked, traceId: traceParent?.traceId }, parts, async () => {
    if (request.names.some(isRefusedHeader)) throw new GatewayRefusal('header_refused')
    return verifyCaller(request, check, parts)
  })
  const audited: AuditedRequest = {
    requestId: asked.requestId,
    method: request.method,
    route: CHECK_PREFIX,
    startedMs: asked.startedMs,
    caller: 'node',
    context: check.context,
  }
  return runAudited(audited, parts, (begin) => permit(request, node, check, { asked, begin, parts }))
}

/** Refuses while nothing can be decided or recorded, and a proxy that the policy does not name. */
function openCheck({ peerCertificate, isSecure }: Asked, { trust, state, clock }: CheckParts): CheckContext {
  if (state?.isHealthy === false) throw new GatewayRefusal('state_unavailable')
  const current = trust?.current
  const policy = current?.policy.check
  if (current === undefined || policy === undefined) throw new GatewayRefusal('not_ready')
  if (isSecure && (peerCertificate === undefined || !policy.proxyCertificates.includes(peerCertificate)))
    throw new GatewayRefusal('proxy_unknown')
  const context = { policy_revision: current.data.revision }
  return { policy, trust: current, context, now: clock.now() }
}

/**
 * Audits a request without a trusted node with the other refused callers, which are limited and summed up: anyone can
 * send any number of requests through a proxy.
 */
async function recordStrangers(
  { method }: CheckedRequest,
  { requestId, startedMs, address, traceId }: Asked & { readonly traceId: string | undefined },
  { refusals }: CheckParts,
  verify: () => Promise<ProvenNode>,
): Promise<ProvenNode> {
  try {
    return await verify()
  } catch (thrown) {
    const error = toRefusal(thrown)?.error
    const { status, reason } = GATEWAY_ERRORS[error ?? 'internal']
    if (status < 500)
      await refusals.record({ requestId, method, route: CHECK_PREFIX, startedMs, address, traceId }, { status, reason })
    throw thrown
  }
}

type Begin = () => Promise<void>

/**
 * Stores intent and completion. A check without a question to the authority has no effect outside, so both are stored
 * together, in one commit, before the answer. `begin` stores the intent before a question.
 */
async function runAudited(
  audited: AuditedRequest,
  { audit }: CheckParts,
  work: (begin: Begin) => Promise<ResultHeaders>,
): Promise<ResultHeaders> {
  let isBegun = false
  const begin = async (): Promise<void> => {
    await audit.begin(audited)
    isBegun = true
  }
  const end = async (status: number): Promise<void> => {
    if (isBegun) await audit.complete(audited, status)
    else await audit.recordBoth(audited, status)
  }
  let result: ResultHeaders
  try {
    result = await work(begin)
  } catch (thrown) {
    const { status, reason } = GATEWAY_ERRORS[toRefusal(thrown)?.error ?? 'internal']
    audited.code = reason
    audited.context.reason = reason
    await end(status)
    throw thrown
  }
  await end(200)
  return result
}

interface Permitting {
  readonly asked: Asked
  readonly begin: Begin
  readonly parts: CheckParts
}

async function permit(
  request: CheckedRequest,
  node: ProvenNode,
  check: CheckContext,
  { asked, begin, parts }: Permitting,
): Promise<ResultHeaders> {
  const matched = matchRoute(check.policy.routes, request.method, request.target)
  check.context.check_route = `${matched.route.method} ${matched.route.path}`
  await checkBody(request, node, matched, check.policy)
  const { asks } = matched.route
  if (asks === undefined) return resultOf(node, undefined)
  const call: AskingCall = {
    requestId: asked.requestId,
    traceParent: readTraceParent(request.all('traceparent')),
    trust: check.trust,
    context: check.context,
    client: { id: 'check', networks: check.policy.networks },
    caller: `node ${node.certificate.node_public_key}`,
    remainingMs: () => asked.deadline.remainingMs,
    checkDeadline: () => asked.deadline.check(),
    beforeAsking: begin,
  }
  return resultOf(node, await decideRoute(asks, { request, node, matched, check }, call, parts))
}

const NOTHING = contentDigest(new Uint8Array())

/** These have no defined body. A proxy that says nothing about one is not asked for more. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Check 5 of the request proof. A proxy that sends no body, or a part of it, leaves this to the service behind it. */
async function checkBody(
  request: CheckedRequest,
  { digest }: ProvenNode,
  { route }: MatchedRoute,
  { proxyReportsBody }: CheckPolicy,
): Promise<void> {
  const bytes = await request.body()
  const isPartial = request.all('x-envoy-auth-partial-body').some((value) => value !== 'false')
  if (bytes.length > 0 && !isPartial) {
    if (contentDigest(bytes) !== digest) throw new GatewayRefusal('digest_mismatch')
    return
  }
  // The node signed that there is no body. The proxy must know: a service may get one that was not compared.
  const reported = reportedBody(request)
  const isKnown = reported === 'none' || (reported === 'unknown' && (proxyReportsBody || BODILESS.has(request.method)))
  if (digest === NOTHING && !isPartial && isKnown) return
  if (route.body !== 'upstream') throw new GatewayRefusal('body_not_seen')
}

function resultOf({ certificate, digest }: ProvenNode, decisionId: string | undefined): ResultHeaders {
  return {
    [RESULT_HEADERS.node]: toHeaderText(certificate.cert_id),
    [RESULT_HEADERS.network]: toHeaderText(certificate.network_name),
    [RESULT_HEADERS.roles]: certificate.roles.map(toHeaderText).join(','),
    [RESULT_HEADERS.nodeKey]: certificate.node_public_key,
    [RESULT_HEADERS.bodyDigest]: digest,
    // Always sent: some proxies leave the header of a client in place when this one is missing.
    [RESULT_HEADERS.decision]: toHeaderText(decisionId ?? ''),
  }
}

/** Writes a text in visible ASCII: other characters, `%` and `,` are percent-encoded. */
function toHeaderText(text: string): string {
  return text.replaceAll(/[^!-~]|[%,]/gu, (letter) => encodeURIComponent(letter))
}
