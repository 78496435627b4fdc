import { GatewayRefusal, TokenRefusal } from '@chancery/contract'
import { type Instant, type JsonObject, instantOf, seconds } from '@chancery/protocol'
import type { TokenResource } from '../../policy/token-policy.ts'
import { type AskingCall, type DecidingNetwork, type Question, askOnce } from '../decisions/index.ts'
import type { TokenNode } from './authenticate-node.ts'
import type { GrantedScope } from './sign-token.ts'
import type { TokenParts } from './token-parts.ts'
import type { AssertedUser } from './user-assertion.ts'

const AT_ONCE = 4
/** A token of a wrong clock could outlive its decision. */
const MAX_OFFSET: Instant = seconds(30)

/** What is asked for every scope of one request. */
export interface ScopeQuestions {
  readonly issuer: string
  readonly node: TokenNode
  readonly network: DecidingNetwork
  readonly basis: Question['basis']
  readonly resource: TokenResource
  readonly scopes: readonly string[]
  readonly jti: string
  readonly jkt: string | undefined
  readonly user: AssertedUser | undefined
}

/**
 * Asks for one decision for each scope, some at a time. A fault in one ends the request: a token is never issued on some
 * answers while others are missing. The decisions that were given are in the audit in any case.
 */
export async function decideScopes(
  asked: ScopeQuestions,
  call: AskingCall,
  parts: TokenParts,
): Promise<readonly GrantedScope[]> {
  const waiting = [...asked.scopes.entries()]
  const decided: GrantedScope[] = []
  let isFaulty = false
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !isFaulty; next = waiting.shift()) {
      const [at, scope] = next
      try {
        decided[at] = { scope, verified: await askOnce(questionOf(scope, asked), asked.jti, call, parts) }
        requireOwnTime(decided[at], parts)
        requireStored(decided[at], asked.resource)
      } catch (error) {
        isFaulty = true
        throw error
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: AT_ONCE }, lane))
  call.context.decisions = Object.values(decided).map(({ verified: { decision } }) => ({
    decision_id: decision.decision_id,
    authorized: decision.authorized,
    reused: false,
  }))
  const fault = lanes.find((each) => each.status === 'rejected')
  if (fault !== undefined) throw fault.reason
  return decided
}

function questionOf(scope: string, asked: ScopeQuestions): Question {
  const { issuer, node, network, basis, resource, jkt, user } = asked
  const capability = resource.scopes.get(scope)
  if (capability === undefined) throw new GatewayRefusal('internal')
  const { certificate, assertion, assertionText } = node
  const access_token: JsonObject = {
    issuer,
    client_id: assertion.clientId,
    cert_id: certificate.cert_id,
    network: certificate.network_name,
    resource: resource.resource,
    scope,
    jkt: jkt ?? null,
  }
  const attributes = {
    access_token,
    ...(user === undefined ? {} : { user: { issuer: user.issuer, subject: user.subject } }),
  }
  const isRelay = network.decisions.certificate !== undefined
  return {
    network,
    basis,
    capability,
    requester: undefined,
    parameters: { resource: { type: 'oauth_resource', id: resource.resource } },
    attributes,
    proof: isRelay ? { kind: 'client_assertion', client_assertion: assertionText, audience: issuer } : undefined,
    certificate,
    isCallerVerified: true,
    showsJustification: false,
  }
}

function requireOwnTime({ verified: { decision } }: GrantedScope, { clock, log }: TokenParts): void {
  const offset = instantOf(decision.decision_made_at) - clock.now()
  if (offset <= MAX_OFFSET && offset >= -MAX_OFFSET) return
  log.error('token issuing stopped', { alarm: true, reason: 'clock_offset' })
  throw new TokenRefusal('clock_offset')
}

/** An auditor must find every decision of a token. */
function requireStored({ verified }: GrantedScope, { needsStoredDecisions }: TokenResource): void {
  if (needsStoredDecisions && !verified.isStored) throw new TokenRefusal('decision_not_stored')
}
