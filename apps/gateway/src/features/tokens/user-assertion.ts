import { TokenRefusal } from '@chancery/contract'
import {
  type CompactJws,
  FOREIGN_KEY_HEADERS,
  type Instant,
  type JsonObject,
  type JsonValue,
  member,
  readCompactJws,
  seconds,
} from '@chancery/protocol'
import type { Access } from '../../auth/access.ts'
import { importJwk, isSignedBy, isUsableKey } from '../../auth/jwk.ts'
import type { TokenResource, UserIssuer } from '../../policy/token-policy.ts'

const TYPE = 'oauth-id-jag+jwt'
const MAX_CHARACTERS = 8192
const MAX_AHEAD: Instant = seconds(30)
const MAX_LIFE_SECONDS = 3600

/** The person for whom a node acts, as a provider states it. A fact for policies, never a right. */
export interface AssertedUser {
  readonly issuer: string
  readonly subject: string
  /** The token ends here at the latest. */
  readonly expiresAt: Instant
}

export interface UserQuestion {
  readonly issuers: readonly UserIssuer[]
  readonly access: Access
  /** The issuer of this gateway. */
  readonly audience: string
  readonly clientId: string
  readonly resource: TokenResource
  readonly scopes: readonly string[]
  readonly now: Instant
}

/** Verifies an identity assertion grant (draft-ietf-oauth-identity-assertion-authz-grant), in the order of its table. */
export async function verifyUserAssertion(text: string, asked: UserQuestion): Promise<AssertedUser> {
  const jws = text.length <= MAX_CHARACTERS ? readCompactJws(text) : undefined
  const alg = jws && member(jws.header, 'alg')
  if (jws === undefined || !isOfType(jws.header)) throw new TokenRefusal('user_assertion_malformed')
  const issuer = asked.issuers.find(
    (each) => each.issuer === member(jws.claims, 'iss') && each.resources.includes(asked.resource.name),
  )
  // The algorithm is of the issuer, so without one it cannot be wrong.
  if (issuer !== undefined && !issuer.algs.some((each) => each === alg))
    throw new TokenRefusal('user_assertion_malformed')
  if (issuer === undefined) throw new TokenRefusal('user_assertion_issuer')
  if (!(await isSigned(jws, issuer, asked.access))) throw new TokenRefusal('user_assertion_signature')
  if (!isForUs(jws.claims, asked)) throw new TokenRefusal('user_assertion_audience')
  const expiresAt = readEnd(jws.claims, asked.now)
  if (expiresAt === undefined) throw new TokenRefusal('user_assertion_stale')
  const subject = member(jws.claims, 'sub')
  if (typeof subject !== 'string' || subject === '' || subject.length > 256 || !permits(jws.claims, asked.scopes))
    throw new TokenRefusal('user_assertion_claims')
  return { issuer: issuer.issuer, subject, expiresAt }
}

function isOfType(header: JsonObject): boolean {
  return member(header, 'typ') === TYPE && FOREIGN_KEY_HEADERS.every((name) => member(header, name) === undefined)
}

/** Under the one key that `kid` names. A set that cannot be read is no reason to refuse the assertion for good. */
async function isSigned({ header, parts }: CompactJws, issuer: UserIssuer, access: Access): Promise<boolean> {
  const [kid, alg] = [member(header, 'kid'), member(header, 'alg')]
  const set = access.userKeys.get(issuer.issuer)
  const named = (): readonly JsonObject[] => (issuer.keys ?? set?.keys() ?? []).filter((key) => key['kid'] === kid)
  if (named().length === 0) await set?.refetch()
  if (issuer.keys === undefined && (set?.keys() ?? []).length === 0) throw new TokenRefusal('user_keys_unavailable')
  const [key, ...more] = named()
  if (key === undefined || more.length > 0 || typeof alg !== 'string' || !isUsableKey(key, alg)) return false
  const imported = importJwk(key)
  return imported !== undefined && isSignedBy(imported, alg, parts)
}

function isForUs(claims: JsonObject, { audience, clientId, resource }: UserQuestion): boolean {
  const given = member(claims, 'aud')
  const [only, ...more] = Array.isArray(given) ? (given as readonly JsonValue[]) : [given]
  const named = member(claims, 'resource')
  return (
    only === audience &&
    more.length === 0 &&
    member(claims, 'client_id') === clientId &&
    (named === undefined || named === resource.resource)
  )
}

function readEnd(claims: JsonObject, now: Instant): Instant | undefined {
  const [iat, exp, jti] = ['iat', 'exp', 'jti'].map((name) => member(claims, name))
  if (typeof iat !== 'number' || typeof exp !== 'number' || typeof jti !== 'string') return undefined
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp) || exp - iat > MAX_LIFE_SECONDS) return undefined
  return seconds(iat) <= now + MAX_AHEAD && seconds(exp) > now ? seconds(exp) : undefined
}

/** With a scope the provider permits these scopes only. */
function permits(claims: JsonObject, scopes: readonly string[]): boolean {
  const given = member(claims, 'scope')
  if (given === undefined) return true
  if (typeof given !== 'string') return false
  const permitted = new Set(given.split(' '))
  return scopes.every((scope) => permitted.has(scope))
}
