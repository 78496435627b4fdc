import { sha256, thumbprintOf, toBase64Url, toUtf8, writeJson } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'

/** A P-256 key that proves possession of access tokens (RFC 9449). Many services verify no other kind. */
export interface DpopKey {
  readonly thumbprint: string
  /** A proof for one request; with a token for a service. */
  prove(request: DpopRequest): Promise<string>
}

export interface DpopRequest {
  readonly method: string
  readonly url: string
  readonly now: Instant
  readonly token?: string
  /** As the service asked for it in DPoP-Nonce. */
  readonly nonce?: string | undefined
}

const EC = { name: 'ECDSA', namedCurve: 'P-256' } as const
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const

/** Makes a key that cannot leave this process. Tokens end within minutes, so it is not stored. */
export async function createDpopKey(): Promise<DpopKey> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(EC, false, ['sign', 'verify'])
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  const jwk = { crv: 'P-256', kty: 'EC', x, y }
  return {
    thumbprint: thumbprintOf(jwk),
    async prove({ method, url, now, token, nonce }) {
      const { origin, pathname } = new URL(url)
      const claims: JsonObject = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: `${origin}${pathname}`,
        iat: Number(now / 1_000_000n),
        ...(token === undefined ? {} : { ath: toBase64Url(sha256(toUtf8(token))) }),
        ...(nonce === undefined ? {} : { nonce }),
      }
      const header = { alg: 'ES256', typ: 'dpop+jwt', jwk }
      const input = `${encode(header)}.${encode(claims)}`
      const signature = await crypto.subtle.sign(SIGNING, privateKey, Uint8Array.from(toUtf8(input)))
      return `${input}.${toBase64Url(new Uint8Array(signature))}`
    },
  }
}

function encode(value: JsonObject): string {
  return toBase64Url(toUtf8(writeJson(value)))
}
