import { SECOND, isJsonObject, isPlainText, joinAudience, member, readSpiffeId, seconds } from '@chancery/protocol'
import type { AdmissionRule, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import type { EvidenceReason } from './evidence.ts'

/** For issuers whose clock is ahead. The end of a token has none. */
const LEEWAY_SECONDS = 60
/** Used evidence is stored until it expires, so its life is limited. */
const MAX_LIFETIME_SECONDS = 86_400
const MAX_SUBJECT = 2048

/** What evidence must say, besides the claims of its rule. */
export interface Expected {
  /** The keys of the authority that a node may name. */
  readonly authorityKeys: readonly string[]
  /** Undefined only in a test of a rule: then any node key is accepted. */
  readonly nodeKey: string | undefined
  readonly now: Instant
}

/**
 * Whom the token is from and for, and when. Checked before its key is looked up, so that a token of another issuer or
 * for another service causes no call.
 */
export function whyForeign(rule: AdmissionRule, claims: JsonObject, expected: Expected): EvidenceReason | undefined {
  if (rule.kind === 'oidc' && member(claims, 'iss') !== rule.issuer) return 'issuer_mismatch'
  if (rule.kind === 'spiffe_jwt' && trustDomainOf(claims) !== rule.trust_domain) return 'issuer_mismatch'
  if (!isForUs(rule, claims, expected)) return 'audience_mismatch'
  return whyOutsideTime(rule, claims, expected.now)
}

function trustDomainOf(claims: JsonObject): string | undefined {
  const sub = member(claims, 'sub')
  return typeof sub === 'string' ? readSpiffeId(sub)?.trustDomain : undefined
}

/** Exactly one audience: with a second one, that service could use the token here. */
function isForUs({ audience }: AdmissionRule, claims: JsonObject, { authorityKeys, nodeKey }: Expected): boolean {
  const named = member(claims, 'aud')
  const list: readonly JsonValue[] = Array.isArray(named) ? (named as readonly JsonValue[]) : [named ?? null]
  const [only] = list
  if (list.length !== 1 || typeof only !== 'string') return false
  if (audience === 'plain') return authorityKeys.some((key) => joinAudience(key) === only)
  if (nodeKey !== undefined) return authorityKeys.some((key) => joinAudience(key, nodeKey) === only)
  return authorityKeys.some((key) => only.startsWith(`${joinAudience(key)}:`))
}

function whyOutsideTime(rule: AdmissionRule, claims: JsonObject, now: Instant): EvidenceReason | undefined {
  const nowSeconds = Number(now / SECOND)
  const [exp, iat, nbf] = [member(claims, 'exp'), member(claims, 'iat'), member(claims, 'nbf')]
  if (!isTime(exp) || (iat !== undefined && !isTime(iat)) || (nbf !== undefined && !isTime(nbf))) return 'malformed'
  // SPIFFE does not require it; every OIDC issuer has it.
  if (rule.kind !== 'spiffe_jwt' && iat === undefined) return 'malformed'
  if (exp <= nowSeconds) return 'expired'
  if ((nbf ?? 0) > nowSeconds + LEEWAY_SECONDS || (iat ?? 0) > nowSeconds + LEEWAY_SECONDS) return 'not_yet_valid'
  const lifetime = exp - Math.min(iat ?? nowSeconds, nowSeconds)
  return lifetime > MAX_LIFETIME_SECONDS ? 'lifetime_too_long' : undefined
}

function isTime(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && value >= 0
}

/** Called after `whyForeign`, which has checked the form. */
export function endOf(claims: JsonObject): Instant {
  const exp = member(claims, 'exp')
  return seconds(isTime(exp) ? exp : 0)
}

/** Called after `whyForeign`, too. */
export function startOf(claims: JsonObject): Instant | undefined {
  const iat = member(claims, 'iat')
  return isTime(iat) ? seconds(iat) : undefined
}

/** The subject, when the claims are those of the rule. Compared exactly: no prefix, no pattern, no other type. */
export function findSubject({ required_claims }: AdmissionRule, claims: JsonObject): string | undefined {
  const subject = member(claims, 'sub')
  if (typeof subject !== 'string' || !isPlainText(subject, MAX_SUBJECT)) return undefined
  const isMet = Object.entries(required_claims).every(([name, texts]) => {
    const value = claimAt(claims, name)
    return typeof value === 'string' && texts.includes(value)
  })
  return isMet ? subject : undefined
}

/** A member of the claims, or with a leading slash the value of a JSON Pointer (RFC 6901) into objects. */
export function claimAt(claims: JsonObject, name: string): JsonValue | undefined {
  if (!name.startsWith('/')) return member(claims, name)
  let value: JsonValue | undefined = claims
  for (const segment of name.slice(1).split('/')) {
    if (!isJsonObject(value)) return undefined
    value = member(value, segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return value
}
