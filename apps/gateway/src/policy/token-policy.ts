import { X509Certificate } from 'node:crypto'
import { type Instant, type JsonObject, fromBase64Url, toBase64 } from '@chancery/protocol'
import type { NetworkPolicy } from './policy.ts'
import type { TlsMaterial } from './tls-files.ts'
import { type TokenAlgorithm, type TokenKey, signingKeyOf } from './token-keys.ts'

/** How a token is bound to a key: by the request, always to the key of the node, or not at all. */
export const TOKEN_BINDINGS = ['dpop', 'dpop_node_key', 'bearer'] as const

/** A service that takes access tokens. */
export interface TokenResource {
  /** Name in the policy file. */
  readonly name: string
  /** The identifier of RFC 8707, and the audience of its tokens. */
  readonly resource: string
  /** The network whose authority decides. */
  readonly network: string
  /** Networks whose nodes may get tokens. */
  readonly callers: readonly string[]
  /** Scope to capability. */
  readonly scopes: ReadonlyMap<string, string>
  readonly defaultScopes: readonly string[]
  readonly isPartialAllowed: boolean
  readonly tokenSeconds: number
  readonly binding: (typeof TOKEN_BINDINGS)[number]
  readonly alg: TokenAlgorithm
  readonly isPublished: boolean
  /** Only decisions that the authority stored as evidence back a token. */
  readonly needsStoredDecisions: boolean
}

/** An identity provider whose ID-JAGs name the person for whom a node acts. */
export interface UserIssuer {
  readonly issuer: string
  /** Exactly one of the two. */
  readonly keySetUrl: URL | undefined
  readonly keys: readonly JsonObject[] | undefined
  readonly algs: readonly TokenAlgorithm[]
  /** Names of the resources for which it counts. */
  readonly resources: readonly string[]
}

/** Access tokens of this gateway. */
export interface OauthPolicy {
  readonly issuer: string
  readonly keys: readonly TokenKey[]
  /** By name. */
  readonly resources: ReadonlyMap<string, TokenResource>
  /** For each node key. */
  readonly requestsPerMinute: number
  readonly decisionsPerMinute: number
  readonly addressRequestsPerMinute: number
  readonly maxScopes: number
  readonly userIssuers: readonly UserIssuer[]
}

/** The resource that a request names. URL libraries add a slash to an origin. */
export function findResource({ resources }: OauthPolicy, text: string): TokenResource | undefined {
  for (const each of resources.values())
    if (each.resource === text || (`${each.resource}/` === text && isOrigin(each.resource))) return each
  return undefined
}

export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/** A resource without a key could get no token. A key with two uses would be worth both to a thief. */
export function tokenKeyProblems(
  { keys, resources }: OauthPolicy,
  { networks }: { readonly networks: ReadonlyMap<string, NetworkPolicy> },
  tls: TlsMaterial | undefined,
  now: Instant,
): readonly string[] {
  const algorithms = new Set([...resources.values()].map(({ alg }) => alg))
  const missing = [...algorithms].filter((alg) => signingKeyOf(keys, alg, now) === undefined)
  const others = new Set<string | undefined>([...networks.values()].flatMap(publicKeysOf))
  const server = tls && new X509Certificate(tls.cert).publicKey
  const isUsedTwice = keys.some(
    (key) => others.has(ed25519Of(key)) || (server !== undefined && key.publicKey.equals(server)),
  )
  return [
    ...missing.map((alg) => `have no key for ${alg} that signs now`),
    ...(isUsedTwice ? ['have a key of another use: of a node, an operator, an authority or of TLS'] : []),
  ]
}

/** Ed25519 keys that this policy names for other uses. */
function publicKeysOf({ anchorTexts, rootKey, decisions, formerKeys }: NetworkPolicy): readonly string[] {
  const former = formerKeys.map(({ public_key }) => public_key)
  const single = [rootKey, decisions?.signer.publicKey].filter((each) => each !== undefined)
  return [...Object.values(anchorTexts), ...former, ...single]
}

function ed25519Of({ alg, publicKey }: TokenKey): string | undefined {
  const bytes = alg === 'EdDSA' ? fromBase64Url(publicKey.export({ format: 'jwk' }).x ?? '') : undefined
  return bytes && toBase64(bytes)
}
