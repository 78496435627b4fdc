import { GatewayRefusal, TokenRefusal } from '@chancery/contract'
import {
  type CompactJws,
  type Instant,
  type JsonObject,
  isJsonObject,
  member,
  readCompactJws,
  seconds,
} from '@chancery/protocol'
import { type HttpResponse, json } from '@chancery/service-kit'
import { isSignedBy } from '../../auth/jwk.ts'
import type { ClientCall } from '../../edge/call.ts'
import type { OauthPolicy, TokenResource } from '../../policy/token-policy.ts'
import { type TrustSnapshot, isNetworkUsable } from '../../trust/snapshot.ts'
import type { AttestationStates } from './attestation-states.ts'
import { requireOauth } from './metadata.ts'
import { FORM_BYTES, checkFormHead, readFormBody } from './read-form.ts'
import type { TokenParts } from './token-parts.ts'

const MAX_TOKEN_CHARACTERS = 16_384

/** Names of the header, and no others. */
const HEADER = ['alg', 'typ', 'kid']

/**
 * POST /oauth/introspect
 * Says whether an access token is active now (RFC 7662). `active: false` says nothing else. What cannot be known is 503.
 */
export async function introspect(
  call: ClientCall,
  states: AttestationStates,
  parts: TokenParts,
): Promise<HttpResponse> {
  const oauth = requireOauth(call)
  if (call.client.introspection.length === 0) throw new GatewayRefusal('introspection_scope')
  const text = await readToken(call)
  const token = text.length <= MAX_TOKEN_CHARACTERS ? await readOwnToken(text, oauth) : undefined
  const resource = token && resourceOf(token, call, oauth)
  if (token !== undefined && resource !== undefined) {
    call.context.oauth_resource = resource.name
    call.context.token_id = token.jti
  }
  const active =
    token !== undefined && resource !== undefined && (await isActive(token, resource, { call, states, parts }))
  call.context.active = active
  parts.tokens.introspected(resource?.name ?? 'other', active)
  if (!active) return json({ active: false })
  const { claims } = token
  return json({ ...claims, active: true, token_type: 'cnf' in claims ? 'DPoP' : 'Bearer' })
}

async function readToken(call: ClientCall): Promise<string> {
  try {
    checkFormHead(call.headers, call.query)
    const parameters = readFormBody(await call.readBytes(FORM_BYTES))
    return parameters.get('token') ?? missing()
  } catch (error) {
    if (!(error instanceof TokenRefusal)) throw error
    const name = error.error === 'content_type' ? 'form_content_type' : 'malformed_request'
    throw new GatewayRefusal(name, undefined, { cause: error })
  }
}

function missing(): never {
  throw new GatewayRefusal('parameter_missing')
}

/** A token that a key of this gateway signed, with the claims that are checked further. */
interface OwnToken {
  readonly claims: JsonObject
  readonly jti: string
  readonly audience: string
  readonly issuedAt: Instant
  readonly expiresAt: Instant
  readonly network: string
  readonly node: string
  readonly attestation: string
}

async function readOwnToken(text: string, { keys, issuer }: OauthPolicy): Promise<OwnToken | undefined> {
  const jws = readCompactJws(text)
  if (jws === undefined || !isTokenHeader(jws)) return undefined
  const key = keys.find(({ kid, alg }) => kid === member(jws.header, 'kid') && alg === member(jws.header, 'alg'))
  if (key === undefined || !(await isSignedBy(key.publicKey, key.alg, jws.parts))) return undefined
  return member(jws.claims, 'iss') === issuer ? readClaims(jws.claims) : undefined
}

function isTokenHeader({ header }: CompactJws): boolean {
  const names = Object.keys(header)
  return names.length === HEADER.length && HEADER.every((name) => names.includes(name)) && header['typ'] === 'at+jwt'
}

function readClaims(claims: JsonObject): OwnToken | undefined {
  const ours = member(claims, 'chancery')
  if (!isJsonObject(ours)) return undefined
  const [jti, audience] = [member(claims, 'jti'), member(claims, 'aud')]
  const [iat, exp] = [member(claims, 'iat'), member(claims, 'exp')]
  const [network, node, attestation] = ['network', 'node', 'attestation'].map((name) => member(ours, name))
  if (typeof jti !== 'string' || typeof audience !== 'string') return undefined
  if (typeof iat !== 'number' || typeof exp !== 'number') return undefined
  if (typeof network !== 'string' || typeof node !== 'string' || typeof attestation !== 'string') return undefined
  return { claims, jti, audience, issuedAt: seconds(iat), expiresAt: seconds(exp), network, node, attestation }
}

/** The resource of a token, when this client may ask about it. */
function resourceOf({ audience }: OwnToken, { client }: ClientCall, { resources }: OauthPolicy) {
  const found = [...resources.values()].find(({ resource }) => resource === audience)
  return found !== undefined && client.introspection.includes(found.name) ? found : undefined
}

interface Introspection {
  readonly call: ClientCall
  readonly states: AttestationStates
  readonly parts: TokenParts
}

/** Under the policy and the lists of now. */
async function isActive(
  token: OwnToken,
  resource: TokenResource,
  { call, states, parts }: Introspection,
): Promise<boolean> {
  const now = parts.clock.now()
  if (token.issuedAt > now || token.expiresAt <= now || !resource.callers.includes(token.network)) return false
  const trust = parts.trust?.current
  const network = trust?.policy.networks.get(token.network)
  if (trust === undefined || network === undefined) return false
  if (!isNetworkUsable(trust, network, now)) throw new GatewayRefusal('revocation_list')
  if (isRevoked(token, trust)) return false
  const isStanding = await states.isActive(network, token.attestation, call)
  // The clock has moved while the authority was asked.
  return isStanding && parts.clock.now() < token.expiresAt
}

/** Under any list of the network: a token does not say which of its issuers signed the certificate. */
function isRevoked({ network, node }: OwnToken, { networks }: TrustSnapshot): boolean {
  const issuers = [...(networks.get(network)?.issuers.values() ?? [])]
  return issuers.some(({ revocations }) => revocations.find(node) !== undefined)
}
