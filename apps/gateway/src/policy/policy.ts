import { wasCurrent } from '@chancery/protocol'
import type {
  AuthorityKeys,
  FormerKey,
  Freshness,
  Instant,
  JoinCertificate,
  KeyHistory,
  RevocationList,
  Signer,
} from '@chancery/protocol'
import type { OauthPolicy } from './token-policy.ts'

/** One authority whose lists are used: the primary issuer of a network or an additional one. */
export interface IssuerPolicy {
  readonly network: string
  /** Key id of the signer of its lists. */
  readonly issuer: string
  /** Path in the policy file, for messages. */
  readonly path: string
  readonly anchors: ReadonlyMap<string, Uint8Array>
  /** The list of the policy file. Undefined for a key that was followed: its list is stored. */
  readonly bootstrap: RevocationList | undefined
  readonly floor: number
  readonly listUrl: URL | undefined
  readonly allowHttp: boolean
  readonly freshness: Freshness
  readonly refreshSeconds: number
  /** Extra root for its URLs, as PEM. */
  readonly extraRoot: string | undefined
  /** Of a former key that was followed: when it was the key of its authority. Other certificates of it are refused. */
  readonly period?: Pick<FormerKey, 'valid_from' | 'valid_to'>
}

/** The keys of the authority of one network as its root signed them, and those that this gateway uses. Plain data. */
export interface FollowedKeys {
  readonly keys: AuthorityKeys & { readonly history: KeyHistory }
  /** Id of the key that signs now. */
  readonly signing: string
  /** Public keys by id: the one that signs now, and others whose list is in force. */
  readonly issuers: Readonly<Record<string, string>>
}

/** How the gateway asks the authority of a network for decisions. */
export interface DecisionPolicy {
  /** The key of the relay, or an operator key that is used for `evaluate` only. */
  readonly signer: Signer
  /** The certificate of the relay. Undefined for an operator key. */
  readonly certificate: JoinCertificate | undefined
  /** `type:id` of a subject to the id of its attestation. */
  readonly subjects: ReadonlyMap<string, string>
  /** Type of a resource to the text before the name of the action. */
  readonly capabilityPrefixes: ReadonlyMap<string, string>
}

export interface NetworkPolicy {
  readonly name: string
  /** As written in the file, for GET /v1/networks. */
  readonly anchorTexts: Readonly<Record<string, string>>
  readonly primary: IssuerPolicy
  readonly additional: readonly IssuerPolicy[]
  /** Keys that its authority had before, and when. They count for records of that time, not for certificates or lists. */
  readonly formerKeys: readonly FormerKey[]
  /** The pinned root key. With it the gateway follows key successions. */
  readonly rootKey: string | undefined
  readonly authorityUrl: URL | undefined
  readonly requiredRoles: readonly string[]
  readonly publicMesh: boolean
  readonly certificateSkew: Instant
  readonly maxLifetime: Instant | undefined
  readonly adminSignatureVersion: number
  /** Its authority gets the traceparent header of the caller, so that its audit names the same trace. */
  readonly forwardTraceparent: boolean
  /** Its authority gets a signed digest for each caller, so that its limits count them and not this gateway. */
  readonly nameCallers: boolean
  /** Undefined: no decisions are asked for. */
  readonly decisions: DecisionPolicy | undefined
}

/**
 * Returns the pinned keys of all issuers by key id. While a key is replaced, two of them sign records. A former key whose
 * time is over signs lists for certificates in use, and nothing else.
 */
export function keysOf(
  { primary, additional, formerKeys }: Pick<NetworkPolicy, 'primary' | 'additional' | 'formerKeys'>,
  now: Instant,
): ReadonlyMap<string, string> {
  const over = new Set(formerKeys.filter((key) => !wasCurrent(key, now)).map((key) => key.public_key))
  const anchors = [...additional, primary].flatMap((issuer) => [...issuer.anchors])
  return new Map(
    anchors.map(([id, key]) => [id, Buffer.from(key).toString('base64')] as const).filter(([, key]) => !over.has(key)),
  )
}

/** Maximum number of questions in one request. */
export const MAX_QUESTIONS = 128

/** A caller: what it may request and how often. Only the digest of its token is stored. */
export interface ClientPolicy {
  readonly id: string
  readonly tokenDigests: readonly string[]
  readonly networks: readonly string[]
  readonly requestsPerMinute: number
  readonly certificatesPerMinute: number | undefined
  readonly decisions: boolean
  readonly decisionsPerMinute: number
  /** Audiences of the request proofs that this client may hand over: the addresses of its own service. */
  readonly proofAudiences: readonly string[]
  readonly metrics: boolean
  readonly serviceGroups: readonly string[]
  readonly authorityAdmin: boolean
  /** Its token is public. */
  readonly isDemo: boolean
  /** Limits the groups to these operations. */
  readonly operations: readonly string[] | undefined
  /** Names of the resources whose access tokens it may introspect. */
  readonly introspection: readonly string[]
  readonly notBefore: Instant | undefined
  readonly expiresAt: Instant | undefined
  /** SHA-256 of the client certificates this credential is bound to. */
  readonly clientCertificates: readonly string[] | undefined
}

/** One segment of a path pattern: a fixed text, one parameter, or the rest of the path. */
export type PatternSegment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'parameter' | 'rest'; readonly name: string }

/** What the HTTP check does with one kind of request. */
export interface CheckRoute {
  /** `*` for every method. */
  readonly method: string
  /** As written in the file. */
  readonly path: string
  readonly segments: readonly PatternSegment[]
  /** Undefined: only certificate and proof are verified. */
  readonly asks: CheckQuestion | undefined
  /** `upstream`: the service behind the proxy compares the digest of the body. */
  readonly body: 'here' | 'upstream'
  /** The question has the digest of the body, so that an approval is for exactly this body. */
  readonly bindsBody: boolean
}

/** The question for the authority of a network. */
export interface CheckQuestion {
  readonly network: string
  readonly capability: string
  /** The id has the names of path parameters in braces. */
  readonly resource: { readonly type: string; readonly id: string } | undefined
}

/** The HTTP check for reverse proxies. */
export interface CheckPolicy {
  /** The name of the service behind the proxy, as nodes sign it. */
  readonly audience: string
  /** Networks whose certificates are accepted. */
  readonly networks: readonly string[]
  /** Trust domains of the networks whose workload identity tokens are accepted. */
  readonly wimse: ReadonlyMap<string, string>
  /** Refuse a request with Authorization that its proof does not cover. */
  readonly requireSignedAuthorization: boolean
  /** The proxy sends every body to the check, so a request without one has none. */
  readonly proxyReportsBody: boolean
  /** SHA-256 of the client certificates of the proxies. */
  readonly proxyCertificates: readonly string[]
  /** Limits for each node. */
  readonly requestsPerMinute: number
  readonly decisionsPerMinute: number
  /** The first that matches is used. */
  readonly routes: readonly CheckRoute[]
}

export interface Policy {
  readonly revision: string
  readonly networks: ReadonlyMap<string, NetworkPolicy>
  /** While its revocation list is not usable, the gateway is not ready. */
  readonly homeNetwork: string
  readonly clients: readonly ClientPolicy[]
  /** Base of the AuthZEN addresses. They are never made from a header of a caller. */
  readonly decisionPointUrl: string | undefined
  /** Undefined: the HTTP check is off. */
  readonly check: CheckPolicy | undefined
  /** Undefined: no access tokens are issued. */
  readonly oauth: OauthPolicy | undefined
  /** Set when the keys of a network were followed: the policy of the file, and the keys by network. */
  readonly followed?: { readonly file: Policy; readonly keys: ReadonlyMap<string, FollowedKeys> }
}

/** Returns the policy as its file has it. */
export function filePolicyOf(policy: Policy): Policy {
  return policy.followed?.file ?? policy
}

export function issuersOfNetwork({ primary, additional }: NetworkPolicy): readonly IssuerPolicy[] {
  return [primary, ...additional]
}

/** Returns all issuers, network by network, primary issuers first. */
export function issuersOf(policy: Policy): readonly IssuerPolicy[] {
  return [...policy.networks.values()].flatMap(issuersOfNetwork)
}
