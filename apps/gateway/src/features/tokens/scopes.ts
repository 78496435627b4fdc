import { TokenRefusal } from '@chancery/contract'
import { type OauthPolicy, type TokenResource, findResource } from '../../policy/token-policy.ts'
import type { FormParameters } from './read-form.ts'

const MAX_SCOPE_CHARACTERS = 1024
/** One or more scopes of RFC 6749 with one space between them. */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/** The resource of a request, for a node of this network. Unknown and not permitted have one answer. */
export function requireResource(parameters: FormParameters, oauth: OauthPolicy, network: string): TokenResource {
  const named = parameters.get('resource')
  if (named === undefined) throw new TokenRefusal('resource_missing')
  const resource = findResource(oauth, named)
  if (resource?.callers.includes(network) !== true) throw new TokenRefusal('resource_unknown')
  return resource
}

/** The scopes of a request in its order, or the default ones. A repeated scope counts once. */
export function readScopes(
  parameters: FormParameters,
  resource: TokenResource,
  { maxScopes }: Pick<OauthPolicy, 'maxScopes'>,
): readonly string[] {
  const text = parameters.get('scope')
  if (text !== undefined && (text.length > MAX_SCOPE_CHARACTERS || !SCOPES.test(text)))
    throw new TokenRefusal('scope_malformed')
  const scopes = text === undefined ? resource.defaultScopes : [...new Set(text.split(' '))]
  if (scopes.length === 0) throw new TokenRefusal('scope_missing')
  if (scopes.length > maxScopes) throw new TokenRefusal('scope_limit')
  if (scopes.some((scope) => !resource.scopes.has(scope))) throw new TokenRefusal('scope_unknown')
  return scopes
}
