import { type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { Form, type Problems, integerIn, keySet, pathOf, textMatching, textUpTo, textsOf } from './form.ts'
import { parse } from './read-policy.ts'
import { checkUrl } from './urls.ts'

/** The subject that may act as a client of the policy (protocol/gateway 3.10). */
export interface OidcBinding {
  readonly clientId: string
  readonly requiredClaims: ReadonlyMap<string, string>
}

export interface OidcPolicy {
  readonly issuer: string
  readonly audience: string
  /** Exactly one of the two. */
  readonly keySetUrl: URL | undefined
  readonly keys: readonly JsonObject[] | undefined
  readonly thumbprints: ReadonlySet<string> | undefined
  readonly maxLifetimeSeconds: number
  /** By subject. */
  readonly bindings: ReadonlyMap<string, OidcBinding>
}

const MEMBERS = [
  'issuer',
  'audience',
  'jwks_url',
  'jwks',
  'jwk_thumbprints',
  'max_token_lifetime_seconds',
  'bindings',
] as const

const MAX_BINDINGS = 4096
const MAX_PINNED = 64
const HTTPS_ONLY = { allowHttp: false, origin: false }

export function readOidcFile(
  bytes: Uint8Array,
  problems: Problems,
  clientIds: ReadonlySet<string>,
): OidcPolicy | undefined {
  const value = parse(bytes, problems)
  if (value === undefined) return undefined
  const form = new Form(value, '', problems, MEMBERS)
  const issuer = form.required('issuer', checkIssuer)
  const audience = form.required('audience', textUpTo(1024))
  const keySetUrl = form.optional('jwks_url', (each, path) => checkUrl(each, path, problems, HTTPS_ONLY))
  const keys = form.optional('jwks', keySet)
  if (form.has('jwks_url') === form.has('jwks')) form.problem('jwks_url', 'exactly one of jwks_url and jwks is needed')
  const thumbprint = textMatching(/^[A-Za-z0-9_-]{43}$/, 'must be an RFC 7638 SHA-256 thumbprint in base64url')
  const thumbprints = form.optional('jwk_thumbprints', textsOf(thumbprint, MAX_PINNED))
  const maxLifetimeSeconds = form.withDefault('max_token_lifetime_seconds', integerIn(1, 86_400), 3600)
  const bindings = form.required('bindings', (each) => readBindings(each, problems, clientIds))
  if (problems.list.length > 0 || issuer === undefined || audience === undefined || bindings === undefined) {
    return undefined
  }
  return {
    issuer,
    audience,
    keySetUrl,
    keys,
    thumbprints: thumbprints === undefined ? undefined : new Set(thumbprints),
    maxLifetimeSeconds,
    bindings,
  }
}

/** Returns the issuer as text, because it is compared exactly with the claim. */
function checkIssuer(value: JsonValue, path: string, problems: Problems): string | undefined {
  const url = checkUrl(value, path, problems, HTTPS_ONLY)
  if (url === undefined || typeof value !== 'string') return undefined
  if (value.includes('?')) {
    problems.add(path, 'must not contain a query')
    return undefined
  }
  return value
}

function readBindings(
  value: JsonValue,
  problems: Problems,
  clientIds: ReadonlySet<string>,
): ReadonlyMap<string, OidcBinding> | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_BINDINGS) {
    problems.add('bindings', `must be an array of 1 to ${MAX_BINDINGS} bindings`)
    return undefined
  }
  const bindings = new Map<string, OidcBinding>()
  for (const [index, each] of (value as readonly JsonValue[]).entries()) {
    const path = `bindings[${index}]`
    const form = new Form(each, path, problems, ['subject', 'client_id', 'required_claims'])
    const subject = form.required('subject', textUpTo(1024))
    const clientId = form.required('client_id', textUpTo(128))
    const requiredClaims = form.required('required_claims', readClaims)
    if (clientId !== undefined && !clientIds.has(clientId)) form.problem('client_id', 'is not a client of the policy')
    if (subject === undefined || clientId === undefined || requiredClaims === undefined) continue
    if (bindings.has(subject)) form.problem('subject', 'is bound already')
    bindings.set(subject, { clientId, requiredClaims })
  }
  return bindings
}

function readClaims(value: JsonValue, path: string, problems: Problems): ReadonlyMap<string, string> | undefined {
  if (!isJsonObject(value)) {
    problems.add(path, 'must be an object of texts')
    return undefined
  }
  const claims = new Map<string, string>()
  for (const [name, text] of Object.entries(value)) {
    if (typeof text === 'string') claims.set(name, text)
    else problems.add(pathOf(path, name), 'must be a text')
  }
  return claims
}
