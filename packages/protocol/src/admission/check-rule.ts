import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import { requireOrder } from '../reading/text.ts'

/** JWS algorithms of asymmetric keys. `none` and HMAC are in no list. */
export const ADMISSION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
  'Ed25519',
] as const

export type AdmissionAlgorithm = (typeof ADMISSION_ALGORITHMS)[number]

/** SPIFFE allows RSA and ECDSA only. */
function isSpiffeAlgorithm(name: AdmissionAlgorithm): boolean {
  return name !== 'EdDSA' && name !== 'Ed25519'
}

export type AdmissionKind = 'oidc' | 'spiffe_jwt' | 'spiffe_x509' | 'expired_certificate'
export type AdmissionPlatform = 'github' | 'gitlab' | 'kubernetes'

/** By claim: the texts of which the claim must be one. A name that starts with `/` is a JSON Pointer. */
export type RequiredClaims = Readonly<Record<string, readonly string[]>>

/** The part of a rule that an operator chooses. */
export type AdmissionTerms = {
  readonly rule_id: string
  readonly kind: AdmissionKind
  /** Which platform makes the tokens; decides which claims name an identity. */
  readonly platform: AdmissionPlatform | null
  readonly issuer: string | null
  readonly trust_domain: string | null
  readonly jwks_url: string | null
  readonly bundle_url: string | null
  /** A pinned JWK set or SPIFFE bundle, in place of an address. */
  readonly keys: JsonObject | null
  /** `bound`: the audience names the node key. `plain`: it names the authority only. */
  readonly audience: 'bound' | 'plain'
  readonly algorithms: readonly AdmissionAlgorithm[]
  readonly required_claims: RequiredClaims
  readonly roles: readonly string[]
  readonly max_validity_hours: number
  readonly valid_from: string | null
  readonly expires_at: string | null
  readonly max_joins: number | null
  /** Only of `expired_certificate`: hours after its end during which a certificate admits its own key again. */
  readonly grace_hours?: number
}

/** The address of the keys; null when they are pinned in the rule. */
export function keysUrlOf({ jwks_url, bundle_url }: Pick<AdmissionTerms, 'jwks_url' | 'bundle_url'>): string | null {
  return jwks_url ?? bundle_url
}

export interface SpiffeId {
  readonly trustDomain: string
  /** With its leading slash; never empty. */
  readonly path: string
}

const MAX_BYTES = 2048
const MAX_DOMAIN = 255
const FORM = /^spiffe:\/\/([a-z0-9._-]+)((?:\/[A-Za-z0-9._-]+)+)$/

/**
 * Reads the SPIFFE ID of a workload, or gives undefined. The form is strict: no percent, no empty segment, no `.` and
 * `..`, no trailing slash, no port, query or fragment. So two texts never name one workload.
 */
export function readSpiffeId(text: string): SpiffeId | undefined {
  if (text.length > MAX_BYTES) return undefined
  const [, trustDomain = '', path = ''] = FORM.exec(text) ?? []
  if (trustDomain === '' || trustDomain.length > MAX_DOMAIN) return undefined
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return undefined
  return { trustDomain, path }
}

export const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com'
const GITLAB_ISSUER = 'https://gitlab.com'
const MAX_KEYS = 64

/** Claims of Kubernetes are nested, so they are named by JSON Pointers. */
export const KUBERNETES_CLAIMS = {
  namespace: '/kubernetes.io/namespace',
  account: '/kubernetes.io/serviceaccount/name',
  accountUid: '/kubernetes.io/serviceaccount/uid',
} as const

/** Checks that the members of a rule fit together, and that the rule names an identity. */
export function checkRuleTerms(rule: AdmissionTerms): void {
  if (rule.kind === 'oidc') checkOidc(rule)
  else if (rule.kind === 'expired_certificate') checkExpired(rule)
  else checkSpiffe(rule)
  if (rule.keys !== null) checkKeys(rule.keys)
  if (rule.valid_from !== null && rule.expires_at !== null) requireOrder(rule, 'valid_from', '<', 'expires_at')
}

function checkOidc(rule: AdmissionTerms): void {
  const { issuer, trust_domain, bundle_url, jwks_url, keys } = rule
  if (issuer === null) throw new FormError('issuer', 'is missing')
  if (trust_domain !== null) throw new FormError('trust_domain', 'is only for SPIFFE')
  if (bundle_url !== null) throw new FormError('bundle_url', 'is only for SPIFFE')
  if ((jwks_url === null) === (keys === null)) throw new FormError('jwks_url', 'give this or keys, one of them')
  checkPlatform(rule)
  if (!namesIdentity(rule))
    throw new FormError('required_claims', `one claim must name an identity: ${identityClaims(rule)}`)
}

/** The issuers of GitHub and GitLab serve every project there, so their own identity claims apply. */
function checkPlatform({ issuer, platform }: AdmissionTerms): void {
  const expected =
    issuer === GITHUB_ISSUER || issuer?.startsWith(`${GITHUB_ISSUER}/`) === true
      ? 'github'
      : issuer === GITLAB_ISSUER
        ? 'gitlab'
        : undefined
  if (expected !== undefined && platform !== expected)
    throw new FormError('platform', `must be ${expected} for this issuer`)
}

const IDENTITY_CLAIMS = {
  github: ['repository_id', 'repository_owner_id'],
  gitlab: ['project_id', 'namespace_id'],
} as const
const GENERIC_IDENTITY = /^(?:sub|uid|oid|[a-z0-9_]*_id)$/

function namesIdentity({ platform, required_claims: claims }: AdmissionTerms): boolean {
  const has = (name: string): boolean => Object.hasOwn(claims, name)
  if (platform === 'kubernetes')
    return has(KUBERNETES_CLAIMS.accountUid) || (has(KUBERNETES_CLAIMS.namespace) && has(KUBERNETES_CLAIMS.account))
  if (platform !== null) return IDENTITY_CLAIMS[platform].some(has)
  return Object.keys(claims).some((name) => GENERIC_IDENTITY.test(name.slice(name.lastIndexOf('/') + 1)))
}

function identityClaims({ platform }: AdmissionTerms): string {
  if (platform === 'kubernetes')
    return `${KUBERNETES_CLAIMS.accountUid}, or ${KUBERNETES_CLAIMS.namespace} with ${KUBERNETES_CLAIMS.account}`
  return platform === null ? 'sub, uid, oid or a name that ends in _id' : IDENTITY_CLAIMS[platform].join(' or ')
}

function checkSpiffe(rule: AdmissionTerms): void {
  const { kind, trust_domain, issuer, platform, jwks_url, bundle_url, keys, required_claims: claims } = rule
  if (trust_domain === null) throw new FormError('trust_domain', 'is missing')
  if (issuer !== null) throw new FormError('issuer', 'is only for oidc; SPIFFE has a trust domain')
  if (platform !== null) throw new FormError('platform', 'is only for oidc')
  if (jwks_url !== null) throw new FormError('jwks_url', 'is only for oidc; SPIFFE has bundle_url')
  if ((bundle_url === null) === (keys === null)) throw new FormError('bundle_url', 'give this or keys, one of them')
  if (rule.audience !== 'bound') throw new FormError('audience', 'must be bound: SPIFFE lets the caller choose it')
  if (!rule.algorithms.every(isSpiffeAlgorithm)) throw new FormError('algorithms', 'SPIFFE allows RSA and ECDSA only')
  const { sub, ...others } = claims
  if (sub === undefined) throw new FormError('required_claims', 'must have sub: the SPIFFE IDs that may join')
  if (!sub.every((text) => readSpiffeId(text)?.trustDomain === trust_domain))
    throw new FormError('required_claims.sub', `must be SPIFFE IDs of the trust domain ${trust_domain}`)
  if (kind === 'spiffe_x509' && Object.keys(others).length > 0)
    throw new FormError('required_claims', 'an X.509-SVID has sub only')
}

/** The keys are those of the authority, and the certificate names the identity. */
function checkExpired(rule: AdmissionTerms): void {
  for (const name of ['platform', 'issuer', 'trust_domain', 'jwks_url', 'bundle_url', 'keys'] as const)
    if (rule[name] !== null) throw new FormError(name, 'is not for certificates of this authority')
  if (rule.audience !== 'bound') throw new FormError('audience', 'must be bound: a certificate names its node key')
}

function checkKeys(set: { readonly [name: string]: JsonValue }): void {
  const keys = set['keys']
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS)
    throw new FormError('keys.keys', `1 to ${MAX_KEYS} keys`)
  for (const key of keys) {
    if (!isJsonObject(key)) throw new FormError('keys.keys', 'a key is an object')
    // A secret in a rule would be stored, listed and copied into backups.
    if (['d', 'k', 'p', 'q', 'dp', 'dq', 'qi'].some((name) => Object.hasOwn(key, name)) || key['kty'] === 'oct')
      throw new FormError('keys.keys', 'must have public keys only')
  }
}
