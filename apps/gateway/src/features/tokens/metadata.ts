import { GATEWAY_ROUTES, GatewayRefusal } from '@chancery/contract'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { HttpResponse, etagOf, isNotModified } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Policy } from '../../policy/policy.ts'
import type { OauthPolicy, TokenResource } from '../../policy/token-policy.ts'
import { DPOP_ALGORITHMS } from './dpop.ts'

const CACHED = { 'cache-control': 'public, max-age=300' }
const KEY_SET_TYPE = 'application/jwk-set+json'

/** The policy of access tokens, or 404 without one. */
export function requireOauth({ trust }: Pick<GatewayCall, 'trust'>): OauthPolicy {
  const oauth = trust?.policy.oauth
  if (oauth === undefined) throw new GatewayRefusal('route_not_found')
  return oauth
}

/**
 * GET /oauth/jwks
 * Public keys of access tokens, in the order of the policy. Resource servers keep them for some minutes.
 */
export function tokenKeys(call: GatewayCall): HttpResponse {
  const { keys } = requireOauth(call)
  const text = writeJson({ keys: keys.map(({ jwk }) => jwk) })
  const etag = etagOf(Buffer.from(text))
  const headers = { ...CACHED, etag }
  if (isNotModified(call.headers.get('if-none-match'), etag)) return new HttpResponse('', '', 304, headers)
  return new HttpResponse(text, KEY_SET_TYPE, 200, headers)
}

/**
 * GET /.well-known/oauth-authorization-server
 * Authorization server metadata (RFC 8414). Every address is made from the policy.
 */
export function authorizationServer(call: GatewayCall): HttpResponse {
  return cachedJson(serverMetadata(requireOauth(call), call.trust?.policy.clients ?? []))
}

/**
 * GET /oauth/resources/{name}
 * Protected resource metadata (RFC 9728), for the service to publish. Resources that are not published do not exist.
 */
export function protectedResource(call: GatewayCall): HttpResponse {
  const oauth = requireOauth(call)
  const resource = oauth.resources.get(call.params['name'] ?? '')
  if (resource?.isPublished !== true) throw new GatewayRefusal('route_not_found')
  return cachedJson(resourceMetadata(oauth, resource))
}

function serverMetadata({ issuer, resources }: OauthPolicy, clients: Policy['clients']): JsonObject {
  const published = [...resources.values()].filter(({ isPublished }) => isPublished)
  const scopes = new Set(published.flatMap((each) => [...each.scopes.keys()]))
  const hasIntrospection = clients.some(({ introspection }) => introspection.length > 0)
  return {
    issuer,
    // Nothing is there. Some clients refuse a document without this member.
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}${GATEWAY_ROUTES.token.path}`,
    jwks_uri: `${issuer}${GATEWAY_ROUTES.tokenKeys.path}`,
    ...(hasIntrospection
      ? {
          introspection_endpoint: `${issuer}${GATEWAY_ROUTES.introspect.path}`,
          introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
        }
      : {}),
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['EdDSA', 'Ed25519'],
    dpop_signing_alg_values_supported: [...DPOP_ALGORITHMS],
    ...(published.length === 0
      ? {}
      : { scopes_supported: [...scopes].toSorted(), protected_resources: published.map(({ resource }) => resource) }),
  }
}

/** The document that a service publishes about itself. */
export function resourceMetadata({ issuer }: Pick<OauthPolicy, 'issuer'>, resource: TokenResource): JsonObject {
  return {
    resource: resource.resource,
    authorization_servers: [issuer],
    scopes_supported: [...resource.scopes.keys()].toSorted(),
    bearer_methods_supported: ['header'],
    dpop_bound_access_tokens_required: resource.binding !== 'bearer',
    dpop_signing_alg_values_supported: [...DPOP_ALGORITHMS],
  }
}

function cachedJson(value: JsonObject): HttpResponse {
  return new HttpResponse(writeJson(value), 'application/json', 200, CACHED)
}
