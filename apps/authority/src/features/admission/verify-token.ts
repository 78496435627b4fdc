import { KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { type AdmissionRule, type JsonObject, member, sha256Hex } from '@chancery/protocol'
import type { EvidenceReason, ReadToken } from './evidence.ts'

/** Members by which a token would bring its own key, or ask for what is not supported. */
const REFUSED_HEADERS = ['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc'] as const
const SPIFFE_HEADERS: readonly string[] = ['alg', 'kid', 'typ']
const MAX_KID = 256
const MAX_MODULUS_CHARACTERS = 1400

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

export interface TokenHeader {
  readonly alg: string
  readonly kid: string | undefined
}

/** The header of a token whose algorithm the rule allows. Nothing else of the token was looked at before. */
export function readHeader(rule: AdmissionRule, { header }: ReadToken): TokenHeader | EvidenceReason {
  const { alg, kid, typ } = header
  if (!rule.algorithms.some((name) => name === alg) || typeof alg !== 'string') return 'algorithm_not_allowed'
  if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) return 'malformed'
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID)) return 'malformed'
  if (rule.kind === 'spiffe_jwt') {
    if (Object.keys(header).some((name) => !SPIFFE_HEADERS.includes(name))) return 'malformed'
    if (typ !== undefined && typ !== 'JWT' && typ !== 'JOSE') return 'malformed'
  }
  return { alg, kid }
}

/** The key that the header names. Of two keys with one id none is used. */
export function chooseKey(
  rule: AdmissionRule,
  keys: readonly JsonObject[],
  { alg, kid }: TokenHeader,
): JsonObject | undefined {
  if (kid === undefined) return undefined
  const found = keys.filter((key) => member(key, 'kid') === kid)
  const [key] = found
  return key !== undefined && found.length === 1 && isUsable(rule, key, alg) ? key : undefined
}

function isUsable(rule: AdmissionRule, key: JsonObject, alg: string): boolean {
  const use = member(key, 'use')
  if (rule.kind === 'spiffe_jwt' ? use !== 'jwt-svid' : use !== undefined && use !== 'sig') return false
  const named = member(key, 'alg')
  if (named !== undefined && named !== alg) return false
  const operations = member(key, 'key_ops')
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return false
  const [kty, crv, modulus] = [member(key, 'kty'), member(key, 'crv'), member(key, 'n')]
  if (alg.startsWith('ES')) return kty === 'EC' && crv === CURVES[alg]
  if (alg.startsWith('E')) return kty === 'OKP' && crv === 'Ed25519'
  // A very long modulus would cost seconds. The library refuses a short one.
  return kty === 'RSA' && typeof modulus === 'string' && modulus.length <= MAX_MODULUS_CHARACTERS
}

/** Whether a key made the signature of the token: a JWK, or the key of a certificate. */
export async function isSignedBy(key: JsonObject | KeyObject, alg: string, token: ReadToken): Promise<boolean> {
  // Loaded here, because most authorities have no rule for tokens.
  const { compactVerify, importJWK } = await import('jose')
  try {
    const imported = key instanceof KeyObject ? key : await importJWK(toJwk(key), alg)
    await compactVerify(token.text, imported, { algorithms: [alg] })
    return true
  } catch {
    // The library throws for every refusal. The token must not get into a log with its errors.
    return false
  }
}

/** Public members only. */
function toJwk({ kty, crv, x, y, n, e }: JsonObject): JWK {
  const members = { kty, crv, x, y, n, e }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === 'string'))
}

/**
 * Under which the use of a token is stored: by its issuer, so that no second rule admits it again. A signature can have
 * several forms, so the digest is of what it covers.
 */
export function evidenceKeyOf(issuer: string, { claims, signingInput }: ReadToken): string {
  const jti = member(claims, 'jti')
  const id = typeof jti === 'string' && jti !== '' ? `jti\n${jti}` : `digest\n${sha256Hex(signingInput)}`
  return sha256Hex(`${issuer}\n${id}`)
}
