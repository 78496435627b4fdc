import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import { TokenRefusal } from '@chancery/contract'
import {
  type BoundaryDecision,
  type CertificateResult,
  type Instant,
  type JsonObject,
  SECOND,
  digestOf,
  instantOf,
  jwsInput,
  seconds,
  toBase64Url,
  toUtf8,
  writeCompactJws,
  writeJson,
} from '@chancery/protocol'
import type { JwsParts } from '@chancery/protocol'
import type { TokenKey } from '../../policy/token-keys.ts'
import type { TokenResource } from '../../policy/token-policy.ts'
import type { VerifiedDecision } from '../decisions/index.ts'
import type { TokenNode } from './authenticate-node.ts'
import type { AssertedUser } from './user-assertion.ts'

const SHORTEST: Instant = seconds(10)
const signAside = promisify(sign)

export interface GrantedScope {
  readonly scope: string
  readonly verified: VerifiedDecision
}

export interface TokenFacts {
  readonly issuer: string
  readonly node: TokenNode
  readonly resource: TokenResource
  /** In the order of the request; at least one. */
  readonly granted: readonly [GrantedScope, ...GrantedScope[]]
  readonly jti: string
  /** Undefined for a Bearer token. */
  readonly jkt: string | undefined
  readonly user: AssertedUser | undefined
  /** The last evaluation of the certificate. */
  readonly evaluated: CertificateResult
  readonly now: Instant
}

/** Times of a token in whole seconds since 1970. */
export interface TokenTimes {
  readonly iat: number
  readonly exp: number
}

/** The earliest end of everything that the token rests on. No tolerance is added. */
export function tokenTimes({ resource, granted, user, evaluated, now }: TokenFacts): TokenTimes {
  const { issuer, expiresAt } = evaluated
  // A trusted certificate has both.
  if (issuer === undefined || expiresAt === undefined) throw new TokenRefusal('internal')
  const { list, freshness } = issuer
  const others = [
    now + seconds(resource.tokenSeconds),
    ...granted.map(({ verified }) => instantOf(verified.decision.decision_valid_until)),
    list.nextUpdate,
    list.issuedAt + freshness.maxAge,
    ...(user === undefined ? [] : [user.expiresAt]),
  ].reduce((first, each) => (each < first ? each : first))
  const end = expiresAt < others ? expiresAt : others
  if (end - now < SHORTEST) throw new TokenRefusal(expiresAt < others ? 'certificate_ending' : 'lifetime_too_short')
  return { iat: Number(now / SECOND), exp: Number(end / SECOND) }
}

/** Signs an access token (RFC 9068). */
export async function signToken(facts: TokenFacts, times: TokenTimes, key: TokenKey): Promise<string> {
  const { issuer, node, resource, granted, jti, jkt, user } = facts
  const { clientId } = node.assertion
  const claims: JsonObject = {
    iss: issuer,
    sub: clientId,
    client_id: clientId,
    aud: resource.resource,
    scope: granted.map(({ scope }) => scope).join(' '),
    jti,
    ...times,
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
    chancery: {
      network: node.certificate.network_name,
      node: node.certificate.cert_id,
      ...basisClaims(granted[0].verified.decision),
      decisions: granted.map(({ scope, verified }) => ({
        scope,
        id: verified.decision.decision_id,
        digest: decisionDigest(verified),
      })),
      ...(user === undefined ? {} : { user: { iss: user.issuer, sub: user.subject } }),
    },
  }
  const header = { alg: key.alg, typ: 'at+jwt', kid: key.kid }
  const parts = { protected: encode(header), payload: encode(claims) }
  return writeCompactJws({ ...parts, signature: toBase64Url(await signatureOf(key, parts)) })
}

/** One request has one attestation, so all its decisions have the same basis. */
function basisClaims({ attestation_binding: binding, operator_sovereign_id }: BoundaryDecision): JsonObject {
  return {
    subject: binding?.subject_id ?? null,
    attestation: binding?.attestation_id ?? null,
    authority: operator_sovereign_id,
  }
}

/** Of the decision without its signature, as received. */
function decisionDigest({ wire: { signature: _signature, ...body } }: VerifiedDecision): string {
  return digestOf(body)
}

function encode(value: JsonObject): string {
  return toBase64Url(toUtf8(writeJson(value)))
}

/** In the thread pool: an RSA signature takes a millisecond. */
function signatureOf(
  { alg, privateKey: key }: TokenKey,
  parts: Pick<JwsParts, 'protected' | 'payload'>,
): Promise<Buffer> {
  const input = jwsInput(parts)
  if (alg === 'EdDSA') return signAside(null, input, key)
  return signAside('sha256', input, alg === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' } : key)
}
