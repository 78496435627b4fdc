import { TOKEN_ERRORS, type TokenErrorName, TokenRefusal } from '@chancery/contract'
import {
  type ClientAssertion,
  attestationOfAssertion,
  evaluateCertificate,
  isAssertionSigned,
  readClientAssertion,
  toTrustDecision,
} from '@chancery/protocol'
import type { CertificateResult, Instant, JoinCertificate } from '@chancery/protocol'
import { limitAddress } from '@chancery/service-kit'
import type { AuditContext } from '../../audit/request-audit.ts'
import { toRetrySeconds } from '../../edge/error-body.ts'
import type { NodeCall } from '../../edge/call.ts'
import type { OauthPolicy } from '../../policy/token-policy.ts'
import { quotaNameOf } from '../../quota/quota.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type { AskingNode } from '../decisions/index.ts'
import { digestOfCertificate, toAudited } from '../verify/index.ts'
import { FORM_BYTES, type FormParameters, checkFormHead, readFormBody } from './read-form.ts'
import { toTokenRefusal } from './refuse.ts'
import type { TokenParts } from './token-parts.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const MAX_AGE_SECONDS = 60

/** What one token request uses: the policy and the lists at its start. */
export interface TokenContext {
  readonly oauth: OauthPolicy
  readonly trust: TrustSnapshot
  readonly context: AuditContext
  readonly now: Instant
}

/** A node whose key signed the assertion and whose certificate is trusted. The assertion is not spent yet. */
export interface TokenNode extends AskingNode {
  readonly parameters: FormParameters
  readonly assertion: ClientAssertion
  /** As received, for the authority. */
  readonly assertionText: string
}

/** Rows 2 to 13 of the checks (docs/protocol/access-tokens.md): nothing before the signature depends on a state. */
export async function authenticateNode(call: NodeCall, given: TokenContext, parts: TokenParts): Promise<TokenNode> {
  const address = limitAddress(call.address)
  if (!(await parts.failures.hit(`token ${address}`, given.oauth.addressRequestsPerMinute)))
    throw new TokenRefusal('address_quota')
  const node = await countFailures(call, parts, () => proveNode(call, given, parts))
  const clientId = quotaNameOf(node.certificate.node_public_key)
  const limit = given.oauth.requestsPerMinute
  const result = await parts.quota.claim({ clientId, kind: 'tokens', limit, cost: 1 })
  if (result === undefined) return node
  parts.metrics.quotaDenied.increase()
  throw new TokenRefusal('node_quota', { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
}

/** Counts a failed authentication of the address. Above its limit a failure is 429; a good request never is. */
export async function countFailures<Value>(
  { address }: Pick<NodeCall, 'address'>,
  { failures, settings, metrics }: TokenParts,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (thrown) {
    const refusal = toTokenRefusal(thrown)
    if (refusal === undefined || TOKEN_ERRORS[refusal.error].status >= 429) throw thrown
    if (await failures.hit(limitAddress(address), settings.authFailuresPerMinute)) {
      metrics.denied.increase()
      throw refusal
    }
    metrics.throttled.increase()
    throw new TokenRefusal('auth_throttled', { cause: thrown })
  }
}

async function proveNode(call: NodeCall, given: TokenContext, parts: TokenParts): Promise<TokenNode> {
  const parameters = await readParameters(call)
  const assertionText = parameters.get('client_assertion')
  if (assertionText === undefined || parameters.get('client_assertion_type') !== ASSERTION_TYPE)
    throw new TokenRefusal('assertion_missing')
  const rules = {
    audience: given.oauth.issuer,
    clientId: parameters.get('client_id'),
    now: given.now,
    maxAgeSeconds: MAX_AGE_SECONDS,
    mayHaveEnded: false,
  }
  const assertion = readClientAssertion(assertionText, rules)
  if (typeof assertion === 'string') throw new TokenRefusal(assertion)
  await requireSignature(call, assertion, parts)
  const carried = attestationOfAssertion(assertion)
  if (typeof carried === 'string') throw new TokenRefusal(carried)
  const { certificate } = assertion
  await requireTrusted(certificate, given, parts)
  return { parameters, assertion, assertionText, certificate, attestation: carried?.record }
}

/** Rows 3 to 5. */
async function readParameters(call: NodeCall): Promise<FormParameters> {
  const bytes = await call.readBytes(FORM_BYTES)
  checkFormHead(call.headers, call.query)
  const parameters = readFormBody(bytes)
  const grant = parameters.get('grant_type')
  if (grant === undefined) throw new TokenRefusal('grant_type_missing')
  if (grant !== 'client_credentials') throw new TokenRefusal('grant_type')
  const hasOther = call.headers.all('authorization').length > 0
  if (hasOther || parameters.has('client_secret') || parameters.has('actor_token'))
    throw new TokenRefusal('credentials_repeated')
  return parameters
}

/** After many failures of the address the check waits for its turn, so that forged assertions cost little. */
async function requireSignature(call: NodeCall, assertion: ClientAssertion, parts: TokenParts): Promise<void> {
  const { failures, checks, settings } = parts
  const address = limitAddress(call.address)
  const isSlowed = await failures.isOver(address, settings.authFailuresPerMinute)
  const claimant = { address, client: assertion.clientId, isGone: () => call.isGone() }
  const isSigned = await checks.run(claimant, isSlowed, () => isAssertionSigned(assertion))
  if (isSigned === undefined) throw new TokenRefusal('auth_throttled')
  if (!isSigned) throw new TokenRefusal('signature_invalid')
}

const LIST_CAUSES: ReadonlySet<string> = new Set(['crl_stale', 'crl_too_old', 'crl_below_floor'])

/** Row 12. One answer for every certificate that is not trusted, and another only when the list is the cause. */
export async function requireTrusted(
  certificate: JoinCertificate,
  { trust, context, now }: TokenContext,
  { metrics, state, verdicts }: TokenParts,
): Promise<CertificateResult> {
  const network = certificate.network_name
  const evaluated = await evaluateCertificate(certificate, trust.networks.get(network), now, verdicts.verify)
  const decision = toTrustDecision(evaluated, { network, policyRevision: trust.data.revision, now })
  metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
  context.trust_decision = toAudited(decision)
  if (trust.networks.has(network)) context.network = network
  const { issuer, crl_sequence } = decision.evaluation
  if (issuer !== null && crl_sequence !== null) context.crl = { issuer, sequence: crl_sequence }
  if (state !== undefined) context.certificate_digests = [digestOfCertificate(certificate)]
  if (!decision.trusted) throw new TokenRefusal(untrustedReason(evaluated))
  return evaluated
}

function untrustedReason({ findings }: CertificateResult): TokenErrorName {
  const isList = findings.every(
    (finding) => finding.code === 'network_policy_rejected' && finding.causes.every((cause) => LIST_CAUSES.has(cause)),
  )
  return isList ? 'revocation_list' : 'certificate_untrusted'
}
