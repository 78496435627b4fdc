import { type KeyObject, createPrivateKey, createPublicKey } from 'node:crypto'
import { type Instant, type JsonObject, seconds, thumbprintOf } from '@chancery/protocol'

export const TOKEN_ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number]

/** A key that signs access tokens from a time on. */
export interface TokenKey {
  /** RFC 7638 thumbprint of the public key. It is never configured, so two keys cannot share it. */
  readonly kid: string
  readonly alg: TokenAlgorithm
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** As the key set shows it. */
  readonly jwk: JsonObject
  readonly signFrom: Instant
  /** May sign without the time in which resource servers read the key set. */
  readonly immediate: boolean
}

/** What a key file says by itself. */
export type KeyMaterial = Pick<TokenKey, 'kid' | 'alg' | 'privateKey' | 'publicKey' | 'jwk'>

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192

/** Reads one PKCS#8 PEM block that is not encrypted. Undefined for another form or another type of key. */
export function readTokenKey(pem: string): KeyMaterial | undefined {
  if (!/^\s*-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\s*$/.test(pem)) return undefined
  const privateKey = parsePrivateKey(pem)
  const alg = privateKey && algorithmOf(privateKey)
  if (privateKey === undefined || alg === undefined) return undefined
  const publicKey = createPublicKey(privateKey)
  // Never the private key: its export has the private members.
  const exported: Readonly<Record<string, unknown>> = { ...publicKey.export({ format: 'jwk' }) }
  const members = Object.fromEntries(MEMBERS[alg].map((name) => [name, textOf(exported[name])]))
  const kid = thumbprintOf(members)
  return { kid, alg, privateKey, publicKey, jwk: { ...members, kid, alg, use: 'sig' } }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The public members of each type, which are also those of its thumbprint. */
const MEMBERS: Readonly<Record<TokenAlgorithm, readonly string[]>> = {
  ES256: ['kty', 'crv', 'x', 'y'],
  EdDSA: ['kty', 'crv', 'x'],
  RS256: ['kty', 'n', 'e'],
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // The library throws for every text that is no key. The operator gets the name of the member.
    return undefined
  }
}

function algorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): TokenAlgorithm | undefined {
  if (type === 'ed25519') return 'EdDSA'
  if (type === 'ec') return details?.namedCurve === 'prime256v1' ? 'ES256' : undefined
  const bits = type === 'rsa' ? (details?.modulusLength ?? 0) : 0
  return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? 'RS256' : undefined
}

/** The key that signs now: the one of its algorithm whose time began last. */
export function signingKeyOf(keys: readonly TokenKey[], alg: TokenAlgorithm, now: Instant): TokenKey | undefined {
  return keys
    .filter((key) => key.alg === alg && key.signFrom <= now)
    .reduce<TokenKey | undefined>(
      (last, key) => (last === undefined || key.signFrom >= last.signFrom ? key : last),
      undefined,
    )
}

/** Resource servers may keep a key set for so long. */
export const PUBLISHED_FIRST: Instant = seconds(3600)
/** The longest life of a token. */
const LONGEST_TOKEN: Instant = seconds(300)

/**
 * Returns why a reload may not replace these keys, or undefined. A new key is published before it signs, and a key stays
 * published while one of its tokens may be in use. Whether a key signed is taken from its time, so all workers and
 * replicas decide the same.
 */
export function keyChangeProblem(
  before: readonly TokenKey[],
  after: readonly TokenKey[],
  now: Instant,
): string | undefined {
  const known = new Map(before.map((key) => [key.kid, key]))
  for (const key of after) {
    const { signFrom } = known.get(key.kid) ?? {}
    const isFirst = before.every(({ alg }) => alg !== key.alg)
    const isAsBefore = signFrom !== undefined && (signFrom <= now || key.signFrom >= signFrom)
    if (!isAsBefore && !isFirst && !key.immediate && key.signFrom < now + PUBLISHED_FIRST)
      return `the key ${key.kid} would sign less than 3600 s after it is published (or set immediate)`
  }
  const kept = new Set(after.map(({ kid }) => kid))
  for (const key of before) {
    if (kept.has(key.kid) || !maySignedTokenLive(before, key, now)) continue
    const next = signingKeyOf(after, key.alg, now)
    if (next?.immediate !== true) return `a token of the key ${key.kid} may still be in use (keep it for 600 s)`
  }
  return undefined
}

/** True for the key that signs, and for one that signed within the life of a token. */
function maySignedTokenLive(keys: readonly TokenKey[], key: TokenKey, now: Instant): boolean {
  if (key.signFrom > now) return false
  const later = keys.filter(({ alg, signFrom }) => alg === key.alg && signFrom > key.signFrom && signFrom <= now)
  return later.every(({ signFrom }) => signFrom > now - LONGEST_TOKEN)
}
