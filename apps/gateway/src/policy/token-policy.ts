import type { JsonObject } from '@chancery/protocol'
import type { TokenAlgorithm, TokenKey } from './token-keys.ts'

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
