import { hash } from 'node:crypto'
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import type { CryptoKey, JWTPayload, ProtectedHeaderParameters } from 'jose'
import { type JsonObject, SECOND } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import type { OidcPolicy } from '../policy/oidc-file.ts'
import { KEY_TYPES, isUsableKey, toPublicJwk } from './jwk.ts'
import type { KeySet } from './key-set.ts'

/** The client of the policy that a token acts as. */
export type OidcVerdict = { readonly clientId: string } | 'refused'

const MAX_TOKEN_BYTES = 16_384
const LEEWAY_SECONDS = 30
const CACHED_SECONDS = 60
const MAX_CACHED = 10_000
/** Headers by which a token would supply its own key or require an unsupported extension. */
const REFUSED_HEADERS = ['crit', 'jwk', 'jku', 'x5u', 'x5c'] as const

interface VerifiedToken {
  readonly clientId: string
  readonly untilSeconds: number
  readonly endsSeconds: number
}

/** Verifies tokens of the pinned issuer (protocol/gateway 3.10). The library checks signatures and claims. */
export class OidcAdapter {
  readonly #policy: OidcPolicy
  readonly #keySet: KeySet | undefined
  readonly #clock: Clock
  /** Verified tokens by digest: accepted for a minute at most, and recognised until they expire. */
  readonly #verified = new Map<string, VerifiedToken>()
  readonly #imported = new WeakMap<JsonObject, Promise<CryptoKey | Uint8Array>>()

  constructor(policy: OidcPolicy, keySet: KeySet | undefined, clock: Clock) {
    this.#policy = policy
    this.#keySet = keySet
    this.#clock = clock
  }

  /** Returns whether a credential can only be a token. */
  static isToken(text: string): boolean {
    return text.length <= MAX_TOKEN_BYTES && /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/.test(text)
  }

  /** Returns the client of a token that was verified less than a minute ago. Nothing is checked again. */
  findAccepted(token: string): string | undefined {
    const known = this.#verified.get(digestOf(token))
    return known !== undefined && this.#nowSeconds() < known.untilSeconds ? known.clientId : undefined
  }

  /**
   * Returns whether the signature was valid before. Only the owner can send such a token, so another check is always
   * allowed.
   */
  wasVerified(token: string): boolean {
    const known = this.#verified.get(digestOf(token))
    return known !== undefined && this.#nowSeconds() < known.endsSeconds
  }

  /** Returns the client that the token claims, or undefined when no signature could make the token valid. */
  claimedClient(token: string): string | undefined {
    const claims = readHeader(token) === undefined ? undefined : readClaims(token)
    if (claims?.iss !== this.#policy.issuer) return undefined
    const isMeant = [claims.aud].flat().includes(this.#policy.audience)
    if (!isMeant || (claims.exp ?? 0) <= this.#nowSeconds() - LEEWAY_SECONDS) return undefined
    return this.#clientOf(claims)
  }

  async verify(token: string): Promise<OidcVerdict> {
    const accepted = this.findAccepted(token)
    if (accepted !== undefined) return { clientId: accepted }
    const digest = digestOf(token)
    const claims = await this.#verify(token)
    const clientId = claims === undefined ? undefined : this.#clientOf(claims)
    this.#verified.delete(digest)
    if (claims === undefined || clientId === undefined) return 'refused'
    this.#keep(digest, clientId, claims)
    return { clientId }
  }

  async close(): Promise<void> {
    await this.#keySet?.close()
  }

  async #verify(token: string): Promise<JWTPayload | undefined> {
    const header = readHeader(token)
    if (header === undefined) return undefined
    try {
      const key = await this.#findKey(header)
      if (key === undefined) return undefined
      const { payload } = await jwtVerify(token, await this.#import(key, header.alg), {
        issuer: this.#policy.issuer,
        audience: this.#policy.audience,
        algorithms: [header.alg],
        clockTolerance: LEEWAY_SECONDS,
        requiredClaims: ['iss', 'aud', 'sub', 'exp', 'iat'],
        currentDate: new Date(this.#nowSeconds() * 1000),
      })
      return payload
    } catch {
      // The library throws for every refusal. The reason is not exposed.
      return undefined
    }
  }

  /** Returns the one usable key with this id. An unknown id may cause one early fetch of the key set. */
  async #findKey(header: { readonly alg: string; readonly kid: string }): Promise<JsonObject | undefined> {
    let found = this.#keys().filter((key) => key['kid'] === header.kid)
    if (found.length === 0 && this.#keySet !== undefined) {
      await this.#keySet.refetch()
      found = this.#keys().filter((key) => key['kid'] === header.kid)
    }
    const [key] = found
    if (key === undefined || found.length > 1 || !isUsableKey(key, header.alg)) return undefined
    return (await this.#isPinned(key)) ? key : undefined
  }

  #keys(): readonly JsonObject[] {
    return this.#policy.keys ?? this.#keySet?.keys() ?? []
  }

  async #isPinned(key: JsonObject): Promise<boolean> {
    const { thumbprints } = this.#policy
    if (thumbprints === undefined) return true
    return thumbprints.has(await calculateJwkThumbprint(toPublicJwk(key)))
  }

  #import(key: JsonObject, alg: string): Promise<CryptoKey | Uint8Array> {
    let imported = this.#imported.get(key)
    if (imported === undefined) {
      imported = importJWK(toPublicJwk(key), alg)
      this.#imported.set(key, imported)
    }
    return imported
  }

  #clientOf(claims: JWTPayload): string | undefined {
    const { sub, iat, exp } = claims
    if (typeof sub !== 'string' || typeof iat !== 'number' || typeof exp !== 'number') return undefined
    if (exp - iat > this.#policy.maxLifetimeSeconds || iat > this.#nowSeconds() + LEEWAY_SECONDS) return undefined
    const binding = this.#policy.bindings.get(sub)
    if (binding === undefined) return undefined
    const isMet = [...binding.requiredClaims].every(
      ([name, text]) => Object.hasOwn(claims, name) && claims[name] === text,
    )
    return isMet ? binding.clientId : undefined
  }

  #keep(digest: string, clientId: string, { exp }: JWTPayload): void {
    if (this.#verified.size >= MAX_CACHED) {
      const oldest = this.#verified.keys().next()
      if (oldest.done !== true) this.#verified.delete(oldest.value)
    }
    const endsSeconds = exp ?? 0
    const untilSeconds = Math.min(endsSeconds, this.#nowSeconds() + CACHED_SECONDS)
    this.#verified.set(digest, { clientId, untilSeconds, endsSeconds })
  }

  #nowSeconds(): number {
    return Number(this.#clock.now() / SECOND)
  }
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64')
}

/** The claims of a token before its signature is verified. */
function readClaims(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token)
  } catch {
    return undefined
  }
}

function readHeader(token: string): { readonly alg: string; readonly kid: string } | undefined {
  let header: ProtectedHeaderParameters & Record<string, unknown>
  try {
    header = decodeProtectedHeader(token)
  } catch {
    return undefined
  }
  const { alg, kid } = header
  if (typeof alg !== 'string' || !Object.hasOwn(KEY_TYPES, alg)) return undefined
  if (typeof kid !== 'string' || kid.length < 1 || kid.length > 256) return undefined
  return REFUSED_HEADERS.some((name) => Object.hasOwn(header, name)) ? undefined : { alg, kid }
}
