import { type JsonValue, isJsonObject } from '@chancery/protocol'
import {
  type Check,
  Form,
  type Problems,
  instant,
  integerIn,
  keySet,
  knownText,
  pathOf,
  textMatching,
  textUpTo,
  textsOf,
  truth,
} from './form.ts'
import type { NetworkPolicy } from './policy.ts'
import type { ReadNamedFile } from './tls-files.ts'
import { TOKEN_ALGORITHMS, type TokenAlgorithm, type TokenKey, readTokenKey } from './token-keys.ts'
import { type OauthPolicy, TOKEN_BINDINGS, type TokenResource, type UserIssuer, isOrigin } from './token-policy.ts'
import { checkUrl, isLoopbackUrl } from './urls.ts'

const MEMBERS = [
  'issuer',
  'signing_keys',
  'resources',
  'requests_per_minute',
  'decisions_per_minute',
  'address_requests_per_minute',
  'max_scopes',
  'user_issuers',
]
const RESOURCE_MEMBERS = [
  'resource',
  'network',
  'callers',
  'scopes',
  'default_scopes',
  'partial_scope',
  'token_seconds',
  'token_binding',
  'alg',
  'metadata',
  'stored_decisions',
]
const MAX_PER_MINUTE = 1_000_000
const MAX_RESOURCES = 256
const MAX_SCOPES = 256
const MAX_KEYS = 8
const MAX_USER_ISSUERS = 16
const MAX_RESOURCE_CHARACTERS = 512

type Networks = ReadonlyMap<string, NetworkPolicy>

const scope = textMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be a scope of RFC 6749, of 1 to 128 characters')
const algorithm = oneOf(TOKEN_ALGORITHMS)

function oneOf<const Word extends string>(words: readonly Word[]): Check<Word> {
  return (value, path, problems) => {
    const found = words.find((word) => word === value)
    if (found === undefined) problems.add(path, `must be ${words.join(' or ')}`)
    return found
  }
}

interface Context {
  readonly problems: Problems
  readonly networks: Networks
  readonly readFile: ReadNamedFile
}

/** Reads which access tokens this gateway issues (docs/protocol/access-tokens.md). */
export function readOauth(value: JsonValue, path: string, context: Context): OauthPolicy | undefined {
  const { problems } = context
  const form = new Form(value, path, problems, MEMBERS)
  const perMinute = integerIn(1, MAX_PER_MINUTE)
  const issuer = form.required('issuer', checkIssuer)
  const keys = form.required('signing_keys', (each, at) => readKeys(each, at, context)) ?? []
  const maxScopes = form.withDefault('max_scopes', integerIn(1, 16), 8)
  const resources =
    form.required('resources', (each, at) => readResources(each, at, { ...context, maxScopes })) ?? new Map()
  const rest = {
    requestsPerMinute: form.withDefault('requests_per_minute', perMinute, 60),
    decisionsPerMinute: form.withDefault('decisions_per_minute', perMinute, 600),
    addressRequestsPerMinute: form.withDefault('address_requests_per_minute', perMinute, 600),
    userIssuers: form.optional('user_issuers', (each, at) => readUserIssuers(each, at, problems, resources)) ?? [],
  }
  for (const alg of new Set([...resources.values()].map((each: TokenResource) => each.alg)))
    if (keys.every((key) => key.alg !== alg)) form.problem('signing_keys', `need a key for ${alg}`)
  return issuer === undefined ? undefined : { ...rest, issuer, keys, maxScopes, resources }
}

/** An origin: all addresses are made from it, and assertions name it exactly. */
const checkIssuer: Check<string> = (value, path, problems) => {
  const url = checkUrl(value, path, problems, { allowHttp: isLoopbackUrl(value), origin: true })
  if (url === undefined || url.origin === value) return url?.origin
  problems.add(path, 'must be an origin in its usual spelling, without a slash at its end')
  return undefined
}

function readKeys(value: JsonValue, path: string, { problems, readFile }: Context): readonly TokenKey[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_KEYS) {
    problems.add(path, `must be an array of 1 to ${MAX_KEYS} keys`)
    return undefined
  }
  const kids = new Set<string>()
  return (value as readonly JsonValue[]).flatMap((each, index) => {
    const form = new Form(each, `${path}[${index}]`, problems, ['file', 'sign_from', 'immediate'])
    const material = form.required('file', (file) => {
      const pem = typeof file === 'string' ? readFile(file, 'secret') : undefined
      return pem === undefined ? undefined : readTokenKey(pem)
    })
    if (form.has('file') && material === undefined)
      form.problem(
        'file',
        'must name a PKCS#8 PEM file of a P-256, Ed25519 or RSA key (2048 bits or more), not encrypted, that only its owner may read',
      )
    const signFrom = form.required('sign_from', instant)
    const immediate = form.withDefault('immediate', truth, false)
    if (material === undefined || signFrom === undefined) return []
    if (kids.has(material.kid)) form.problem('file', 'is the key of an earlier entry')
    kids.add(material.kid)
    return [{ ...material, signFrom, immediate }]
  })
}

function readResources(
  value: JsonValue,
  path: string,
  context: Context & { readonly maxScopes: number },
): ReadonlyMap<string, TokenResource> | undefined {
  const { problems } = context
  const entries = isJsonObject(value) ? Object.entries(value) : []
  if (entries.length === 0 || entries.length > MAX_RESOURCES) {
    problems.add(path, `must be an object of 1 to ${MAX_RESOURCES} resources by name`)
    return undefined
  }
  const resources = new Map<string, TokenResource>()
  const used = new Set<string>()
  for (const [name, each] of entries) {
    const at = pathOf(path, name)
    if (!/^[a-z0-9-]{1,64}$/.test(name)) problems.add(at, 'a name has 1 to 64 of a-z 0-9 -')
    const resource = readResource(name, each, at, context)
    if (resource === undefined) continue
    // An origin with and without a slash is one resource.
    const { href } = new URL(resource.resource)
    if (used.has(href)) problems.add(`${at}.resource`, 'is the one of an earlier resource')
    used.add(href)
    resources.set(name, resource)
  }
  return resources
}

function readResource(
  name: string,
  value: JsonValue,
  path: string,
  { problems, networks, maxScopes }: Context & { readonly maxScopes: number },
): TokenResource | undefined {
  const form = new Form(value, path, problems, RESOURCE_MEMBERS)
  const resource = form.required('resource', checkResource)
  const network = readNetworkName(form, networks)
  const known = knownText(new Set(networks.keys()), 'is not a configured network')
  const scopes = form.required('scopes', readScopes) ?? new Map<string, string>()
  const rest = {
    callers: form.withDefault('callers', textsOf(known, networks.size), network === undefined ? [] : [network]),
    defaultScopes: form.withDefault('default_scopes', textsOf(scope, maxScopes), []),
    isPartialAllowed: form.withDefault('partial_scope', truth, true),
    tokenSeconds: form.withDefault('token_seconds', integerIn(30, 300), 120),
    binding: form.withDefault('token_binding', oneOf(TOKEN_BINDINGS), 'dpop'),
    alg: form.withDefault<TokenAlgorithm>('alg', algorithm, 'ES256'),
    isPublished: form.withDefault('metadata', truth, false),
    needsStoredDecisions:
      form.withDefault('stored_decisions', oneOf(['required', 'optional']), 'required') === 'required',
  }
  if (rest.defaultScopes.some((each) => !scopes.has(each)))
    form.problem('default_scopes', 'names a scope that is not in scopes')
  return resource === undefined || network === undefined ? undefined : { ...rest, name, resource, network, scopes }
}

/** Compared as text with what a request names, so there is one spelling. */
const checkResource: Check<string> = (value, path, problems) => {
  const text = textUpTo(MAX_RESOURCE_CHARACTERS)(value, path, problems)
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackUrl(text))
  const isBare = url !== undefined && url.username === '' && url.password === '' && !/[?#]/.test(text)
  if (isAllowed && isBare && (url.href === text || isOrigin(text))) return text
  problems.add(path, 'must be an https URL in its usual spelling, without query, fragment and user info')
  return undefined
}

function readNetworkName(form: Form, networks: Networks): string | undefined {
  const deciding = [...networks.values()].filter(({ decisions }) => decisions !== undefined).map((each) => each.name)
  const named = form.optional('network', textUpTo(256))
  const network = named ?? (deciding.length === 1 ? deciding[0] : undefined)
  if (network !== undefined && deciding.includes(network)) return network
  form.problem('network', 'must be a network with decisions')
  return undefined
}

/** An object of scope to capability, or an array of texts that are both. */
const readScopes: Check<ReadonlyMap<string, string>> = (value, path, problems) => {
  const entries = Array.isArray(value)
    ? (value as readonly JsonValue[]).map((each) => [each, each] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : []
  if (entries.length === 0 || entries.length > MAX_SCOPES) {
    problems.add(path, `must be an object or an array of 1 to ${MAX_SCOPES} scopes`)
    return undefined
  }
  const scopes = new Map<string, string>()
  const capabilities = new Set<string>()
  const capability = textUpTo(256)
  for (const [index, [name, named]] of entries.entries()) {
    const at = typeof name === 'string' && !Array.isArray(value) ? pathOf(path, name) : `${path}[${index}]`
    const text = scope(name, at, problems)
    const granted = capability(named, at, problems)
    if (text === undefined || granted === undefined) continue
    // A relay gets one decision for each capability.
    if (capabilities.has(granted)) problems.add(at, 'names the capability of an earlier scope')
    capabilities.add(granted)
    scopes.set(text, granted)
  }
  return scopes
}

function readUserIssuers(
  value: JsonValue,
  path: string,
  problems: Problems,
  resources: ReadonlyMap<string, TokenResource>,
): readonly UserIssuer[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_USER_ISSUERS) {
    problems.add(path, `must be an array of at most ${MAX_USER_ISSUERS} issuers`)
    return undefined
  }
  const issuers = new Set<string>()
  const known = knownText(new Set(resources.keys()), 'is not a resource of oauth')
  return (value as readonly JsonValue[]).flatMap((each, index) => {
    const form = new Form(each, `${path}[${index}]`, problems, ['issuer', 'jwks_url', 'jwks', 'algs', 'resources'])
    const rules = { allowHttp: false, origin: false }
    const issuer = form.required('issuer', (text, at) => checkUrl(text, at, problems, rules) && (text as string))
    const keySetUrl = form.optional('jwks_url', (text, at) => checkUrl(text, at, problems, rules))
    const keys = form.optional('jwks', keySet)
    if (form.has('jwks_url') === form.has('jwks'))
      form.problem('jwks_url', 'exactly one of jwks_url and jwks is needed')
    const algs = form.withDefault('algs', algorithms, TOKEN_ALGORITHMS)
    const named = form.required('resources', textsOf(known, MAX_RESOURCES))
    if (issuer === undefined || named === undefined) return []
    if (issuers.has(issuer)) form.problem('issuer', 'is the one of an earlier entry')
    issuers.add(issuer)
    return [{ issuer, keySetUrl, keys, algs, resources: named }]
  })
}

const algorithms: Check<readonly TokenAlgorithm[]> = (value, path, problems) => {
  const texts = textsOf(algorithm, TOKEN_ALGORITHMS.length)(value, path, problems)
  if (texts?.length === 0) problems.add(path, 'must name an algorithm')
  return texts as readonly TokenAlgorithm[] | undefined
}
