import {
  clientIdOf,
  isJsonObject,
  member,
  readCompactJws,
  readJson,
  readOrUndefined,
  seconds,
  signClientAssertion,
} from '@chancery/protocol'
import type { Attestation, Instant, JoinCertificate, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import { ChanceryError, UsageError, VerificationError } from '../errors.ts'
import { type Fetch, fetchWithoutRedirect } from '../http/transport.ts'
import { type DpopKey, createDpopKey } from './dpop.ts'

/** What a node asks a gateway for. */
export interface TokenRequest {
  /** Identifier of the service, which becomes the audience of the token. */
  readonly resource: string
  /** Default: the scopes that the operator of the gateway chose. */
  readonly scopes?: readonly string[]
  /** An attestation of this node, by its own network. */
  readonly attestation?: Attestation
  /** Default: a new key for each call of {@link requestToken}, and one key for each node. */
  readonly dpopKey?: DpopKey
  /** Ask for a Bearer token, where the operator of the service allows it. */
  readonly bearer?: boolean
}

/** A decision that backs a scope, as the token names it. */
export interface TokenDecision {
  readonly scope: string
  readonly id: string
  readonly digest: string
}

export interface AccessToken {
  readonly token: string
  readonly type: 'DPoP' | 'Bearer'
  /** The granted scopes; fewer than asked for when the authority denied some. */
  readonly scopes: readonly string[]
  readonly expiresAt: Instant
  readonly decisions: readonly TokenDecision[]
  /** Scopes that the authority denied, with its reasons. */
  readonly denied: readonly { readonly scope: string; readonly reason: string }[]
  /** Undefined for a Bearer token. */
  readonly dpopKey: DpopKey | undefined
}

/** The gateway issued no token. */
export class TokenRefusedError extends ChanceryError {
  override readonly name = 'TokenRefusedError'
  readonly kind = 'token_refused'
  readonly status: number
  /** The code of OAuth. */
  readonly error: string
  /** The reason of the gateway (docs/reference/errors.md). */
  readonly reason: string
  readonly requestId: string | undefined

  constructor(facts: Pick<TokenRefusedError, 'status' | 'error' | 'reason' | 'requestId' | 'message'>) {
    super(facts.message)
    this.status = facts.status
    this.error = facts.error
    this.reason = facts.reason
    this.requestId = facts.requestId
  }
}

export interface TokenIdentity {
  readonly signer: Signer
  readonly certificate: JoinCertificate
  readonly clock: () => Instant
  readonly fetch: Fetch
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * Exchanges the identity of a node for an access token of a service, at the gateway that issues its tokens. The address
 * of the gateway comes from you, never from the service: it decides who gets the assertion.
 */
export async function requestToken(
  issuer: string,
  request: TokenRequest,
  { signer, certificate, clock, fetch }: TokenIdentity,
): Promise<AccessToken> {
  const { origin } = new URL(issuer)
  if (origin !== issuer) throw new UsageError('the issuer is an origin without a path, such as https://gw.example')
  const { resource, scopes, attestation, bearer = false } = request
  const dpopKey = bearer ? undefined : (request.dpopKey ?? (await createDpopKey()))
  const url = `${issuer}/oauth/token`
  const now = clock()
  const client_assertion = await signClientAssertion(
    { audience: issuer, certificate, attestation, proofKey: dpopKey?.thumbprint, jti: crypto.randomUUID(), now },
    signer,
  )
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    client_assertion,
    resource,
    ...(scopes === undefined ? {} : { scope: scopes.join(' ') }),
  })
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(dpopKey === undefined ? {} : { dpop: await dpopKey.prove({ method: 'POST', url, now }) }),
  }
  const response = await fetchWithoutRedirect(fetch, url, { method: 'POST', headers, body: body.toString() })
  const answer = readAnswer(await response.text())
  if (response.status !== 200) throw refused(response.status, answer)
  return readToken(answer, { issuer, request, publicKey: signer.publicKey, dpopKey, now })
}

function readAnswer(text: string): JsonObject {
  const value = readOrUndefined(() => readJson(text))
  return isJsonObject(value) ? value : {}
}

function refused(status: number, answer: JsonObject): TokenRefusedError {
  const [error, reason, message] = ['error', 'chancery_reason', 'error_description'].map((name) => {
    const value = member(answer, name)
    return typeof value === 'string' ? value : ''
  })
  const requestId = member(answer, 'request_id')
  return new TokenRefusedError({
    status,
    error: error ?? '',
    reason: reason ?? '',
    message: message === undefined || message === '' ? `the gateway answered ${status} without a token` : message,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

interface Expected {
  readonly issuer: string
  readonly request: TokenRequest
  readonly publicKey: string
  readonly dpopKey: DpopKey | undefined
  readonly now: Instant
}

/** The signature is for the service. What the token says about this request is checked here. */
function readToken(answer: JsonObject, expected: Expected): AccessToken {
  const { issuer, request, publicKey, dpopKey } = expected
  const token = member(answer, 'access_token')
  const claims = typeof token === 'string' ? readCompactJws(token)?.claims : undefined
  if (typeof token !== 'string' || claims === undefined) throw unfit('has no readable token')
  const isOurs = member(claims, 'iss') === issuer && member(claims, 'sub') === clientIdOf(publicKey)
  const audience = member(claims, 'aud')
  const isMeant = audience === request.resource || (typeof audience === 'string' && `${audience}/` === request.resource)
  if (!isOurs || !isMeant) throw unfit('is about another node, gateway or service')
  const cnf = member(claims, 'cnf')
  const jkt = isJsonObject(cnf) ? member(cnf, 'jkt') : undefined
  if (jkt !== dpopKey?.thumbprint) throw unfit('is bound to another key')
  const scope = member(claims, 'scope')
  const exp = member(claims, 'exp')
  if (typeof scope !== 'string' || typeof exp !== 'number') throw unfit('has no scope or no end')
  const scopes = scope.split(' ')
  const asked = request.scopes
  if (asked !== undefined && scopes.some((each) => !asked.includes(each))) throw unfit('has a scope that was not asked')
  const denied = listOf(member(answer, 'chancery_denied')).map((each) => ({
    scope: textAt(each, 'scope'),
    reason: textAt(each, 'reason'),
  }))
  return {
    token,
    type: dpopKey === undefined ? 'Bearer' : 'DPoP',
    scopes,
    expiresAt: seconds(exp),
    decisions: decisionsOf(claims),
    denied,
    dpopKey,
  }
}

function decisionsOf(claims: JsonObject): readonly TokenDecision[] {
  const ours = member(claims, 'chancery')
  const listed = isJsonObject(ours) ? member(ours, 'decisions') : undefined
  return listOf(listed).map((each) => ({
    scope: textAt(each, 'scope'),
    id: textAt(each, 'id'),
    digest: textAt(each, 'digest'),
  }))
}

function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter((each) => isJsonObject(each)) : []
}

function textAt(value: JsonObject, name: string): string {
  const text = member(value, name)
  return typeof text === 'string' ? text : ''
}

function unfit(problem: string): VerificationError {
  return new VerificationError('token_mismatch', 'response', `the answer of the gateway ${problem}`)
}
