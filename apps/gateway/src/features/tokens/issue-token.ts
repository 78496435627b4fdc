import { type DeniedScope, GATEWAY_ROUTES, GatewayRefusal, TOKEN_ERRORS, TokenRefusal } from '@chancery/contract'
import { type Instant, type JsonObject, seconds, sha256Hex, writeInstant } from '@chancery/protocol'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { AuditedRequest } from '../../audit/request-audit.ts'
import { toRetrySeconds } from '../../edge/error-body.ts'
import type { NodeCall } from '../../edge/call.ts'
import { signingKeyOf } from '../../policy/token-keys.ts'
import type { TokenResource } from '../../policy/token-policy.ts'
import { awaitProofTime, quotaNameOf } from '../../quota/quota.ts'
import { type AskingCall, type DecidingNetwork, type Question, basisOf, isDeciding } from '../decisions/index.ts'
import {
  type TokenContext,
  type TokenNode,
  authenticateNode,
  countFailures,
  requireTrusted,
} from './authenticate-node.ts'
import { decideScopes } from './decide-scopes.ts'
import { type DpopProof, readDpopProof } from './dpop.ts'
import { toTokenRefusal } from './refuse.ts'
import { readScopes, requireResource } from './scopes.ts'
import { type GrantedScope, type TokenFacts, signToken, tokenTimes } from './sign-token.ts'
import type { TokenParts } from './token-parts.ts'
import { type AssertedUser, verifyUserAssertion } from './user-assertion.ts'

/** A request that passed every check before its decisions. */
interface AdmittedRequest {
  readonly node: TokenNode
  readonly resource: TokenResource
  readonly scopes: readonly string[]
  readonly proof: DpopProof | undefined
  readonly user: AssertedUser | undefined
  readonly network: DecidingNetwork
  readonly basis: Question['basis']
}

/**
 * POST /oauth/token
 * Issues an access token: one signed and stored decision backs each scope. The checks are in the order of
 * docs/protocol/access-tokens.md; the first that fails decides.
 */
export async function issueToken(call: NodeCall, parts: TokenParts): Promise<HttpResponse> {
  const { trust } = call
  const oauth = trust?.policy.oauth
  if (trust === undefined || oauth === undefined) throw new GatewayRefusal('route_not_found')
  if (parts.state?.isHealthy === false) throw new GatewayRefusal('state_unavailable')
  const given: TokenContext = { oauth, trust, context: call.context, now: parts.clock.now() }
  given.context.policy_revision = trust.data.revision
  if (call.traceParent !== undefined) given.context.trace_id = call.traceParent.traceId
  try {
    const admitted = await recordStrangers(call, parts, () => admit(call, given, parts))
    const answer = await runAudited(call, parts, () => issue(admitted, call, given, parts))
    parts.tokens.issued(admitted.resource.name, 'chancery_denied' in answer ? 'reduced' : 'issued')
    return json(answer)
  } catch (thrown) {
    countRefusal(thrown, given, parts)
    throw thrown
  } finally {
    parts.tokens.duration.observe((parts.clock.monotonicMs() - call.startedMs) / 1000)
  }
}

function countRefusal(thrown: unknown, { context }: TokenContext, { tokens }: TokenParts): void {
  const refusal = toTokenRefusal(thrown)
  if (refusal === undefined) return
  const { status, reason } = TOKEN_ERRORS[refusal.error]
  tokens.refused(reason)
  // Set only after the resource is known: no label comes from a caller.
  if (context.oauth_resource === undefined) return
  const other = status >= 500 ? 'unavailable' : 'refused'
  tokens.issued(context.oauth_resource, reason === 'decision_denied' ? 'denied' : other)
}

/** Refusals before the decisions are audited with the other refused callers: limited, and summed up. */
async function recordStrangers<Value>(
  call: NodeCall,
  { refusals }: TokenParts,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (thrown) {
    const refusal = toTokenRefusal(thrown)
    const { status, reason } = TOKEN_ERRORS[refusal?.error ?? 'internal']
    const { requestId, method, startedMs, address, traceParent } = call
    const request = { requestId, method, route: call.route.path, startedMs, address, traceId: traceParent?.traceId }
    if (status < 500) await refusals.record(request, { status, reason })
    throw thrown
  }
}

/** Rows 2 to 20. */
async function admit(call: NodeCall, given: TokenContext, parts: TokenParts): Promise<AdmittedRequest> {
  const { oauth, trust, now } = given
  const node = await authenticateNode(call, given, parts)
  const { parameters, assertion, certificate } = node
  const resource = requireResource(parameters, oauth, certificate.network_name)
  given.context.oauth_resource = resource.name
  const scopes = readScopes(parameters, resource, oauth)
  const proof = await readDpopProof({
    values: call.headers.all('dpop'),
    endpoint: `${oauth.issuer}${GATEWAY_ROUTES.token.path}`,
    binding: resource.binding,
    nodeKey: certificate.node_public_key,
    proofKey: assertion.proofKey,
    now,
  })
  const user = await readUser(given, { parameters, resource, scopes, clientId: assertion.clientId }, parts)
  await spendProofs(call, node, proof, parts)
  const network = trust.policy.networks.get(resource.network)
  if (network === undefined || !isDeciding(network)) throw new GatewayRefusal('decisions_not_configured')
  given.context.decision_network = network.name
  const basis = await basisOf(node, network, trust)
  if (basis === undefined) throw new TokenRefusal('subject_unknown')
  await countDecisions(node, scopes.length, given, parts)
  return { node, resource, scopes, proof, user, network, basis }
}

async function readUser(
  { oauth, now, context }: TokenContext,
  asked: Pick<AdmittedRequest, 'resource' | 'scopes'> & Pick<TokenNode, 'parameters'> & { readonly clientId: string },
  { access }: TokenParts,
): Promise<AssertedUser | undefined> {
  const text = asked.parameters.get('chancery_user_assertion')
  if (text === undefined) return undefined
  const { userIssuers: issuers, issuer: audience } = oauth
  const user = await verifyUserAssertion(text, { ...asked, issuers, access: access(), audience, now })
  context.user_digest = sha256Hex(`${user.issuer}\n${user.subject}`)
  return user
}

/** Row 18. Each counts once for its key; a copy of a whole request is found by its assertion. */
async function spendProofs(
  call: NodeCall,
  { assertion, certificate }: TokenNode,
  proof: DpopProof | undefined,
  parts: TokenParts,
): Promise<void> {
  const spend = async (name: string, created: Instant): Promise<boolean> => {
    if (parts.state === undefined && !(await awaitProofTime(created, parts.clock))) return false
    return (await parts.quota.spend({ name, created })) === undefined
  }
  await countFailures(call, parts, async () => {
    if (!(await spend(`assertion ${certificate.node_public_key} ${assertion.jti}`, assertion.issuedAt)))
      throw new TokenRefusal('assertion_replayed')
  })
  if (proof !== undefined && !(await spend(`dpop ${proof.jkt} ${proof.jti}`, proof.issuedAt)))
    throw new TokenRefusal('dpop_replayed')
}

async function countDecisions(
  { certificate }: TokenNode,
  cost: number,
  { oauth }: TokenContext,
  { quota, metrics }: TokenParts,
): Promise<void> {
  const clientId = quotaNameOf(certificate.node_public_key)
  const result = await quota.claim({ clientId, kind: 'token_decisions', limit: oauth.decisionsPerMinute, cost })
  if (result === undefined) return
  metrics.quotaDenied.increase()
  throw new TokenRefusal('decision_quota', { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
}

/** Stores the intent before the authority is asked, and the completion before the answer is sent. */
async function runAudited(call: NodeCall, { audit }: TokenParts, work: () => Promise<JsonObject>): Promise<JsonObject> {
  const { requestId, method, startedMs, context } = call
  const audited: AuditedRequest = { requestId, method, route: call.route.path, startedMs, caller: 'node', context }
  call.checkDeadline()
  await audit.begin(audited)
  let answer: JsonObject
  try {
    answer = await work()
  } catch (thrown) {
    const { status, reason } = TOKEN_ERRORS[toTokenRefusal(thrown)?.error ?? 'internal']
    audited.code = reason
    context.reason = reason
    await audit.complete(audited, status)
    throw thrown
  }
  await audit.complete(audited, 200)
  return answer
}

/** Rows 22 to 26. */
async function issue(
  admitted: AdmittedRequest,
  call: NodeCall,
  given: TokenContext,
  parts: TokenParts,
): Promise<JsonObject> {
  const { node, resource, proof, user } = admitted
  const { issuer } = given.oauth
  const jti = parts.ids.uuid()
  const asked = { ...admitted, issuer, jti, jkt: proof?.jkt }
  const decided = await decideScopes(asked, toAskingCall(call, node), parts)
  const { granted, denied } = divide(decided, resource, parts)
  const current = parts.trust?.current ?? given.trust
  const now = parts.clock.now()
  const evaluated = await requireTrusted(node.certificate, { ...given, trust: current, now }, parts)
  const facts: TokenFacts = { issuer, node, resource, granted, jti, jkt: proof?.jkt, user, evaluated, now }
  const times = tokenTimes(facts)
  // Of the policy that is loaded now: a key that a reload removed must not sign.
  const key = signingKeyOf(current.policy.oauth?.keys ?? [], resource.alg, now)
  if (key === undefined) throw new TokenRefusal('not_ready')
  call.checkDeadline()
  const access_token = await signToken(facts, times, key)
  const scope = granted.map((each) => each.scope).join(' ')
  Object.assign(call.context, {
    token_id: jti,
    token_scope: scope,
    token_expires_at: writeInstant(seconds(times.exp)),
    token_key_id: key.kid,
    ...(proof === undefined ? {} : { token_jkt: proof.jkt }),
  })
  return {
    access_token,
    token_type: proof === undefined ? 'Bearer' : 'DPoP',
    expires_in: times.exp - times.iat,
    scope,
    ...(denied.length === 0 ? {} : { chancery_denied: denied }),
  }
}

function toAskingCall(call: NodeCall, { certificate }: TokenNode): AskingCall {
  const { requestId, traceParent, trust, context } = call
  return {
    requestId,
    traceParent,
    trust,
    context,
    client: { id: 'tokens', networks: [] },
    caller: quotaNameOf(certificate.node_public_key),
    remainingMs: () => call.remainingMs(),
    checkDeadline: () => call.checkDeadline(),
  }
}

/** Row 23. The scope of a token may be smaller than the one of its request, which the answer then says. */
function divide(
  decided: readonly GrantedScope[],
  { name, isPartialAllowed }: TokenResource,
  { tokens }: TokenParts,
): { readonly granted: TokenFacts['granted']; readonly denied: readonly DeniedScope[] } {
  const isGranted = ({ verified }: GrantedScope): boolean => verified.decision.authorized
  const denied = decided
    .filter((each) => !isGranted(each))
    .map(({ scope, verified: { decision } }) => {
      return { scope, decision_id: decision.decision_id, reason: decision.denial_reason ?? 'denied' }
    })
  for (const each of decided) tokens.scope(name, isGranted(each) ? 'granted' : 'denied')
  const [first, ...more] = decided.filter(isGranted)
  if (first === undefined || (denied.length > 0 && !isPartialAllowed))
    throw new TokenRefusal('decision_denied', { denied })
  return { granted: [first, ...more], denied }
}
