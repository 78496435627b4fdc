import { type GatewayErrorName, GatewayRefusal, type GatewayRefusalOptions } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { type Limiter, type MaybePromise, andThen, limitAddress } from '@chancery/service-kit'
import type { ClientPolicy } from '../policy/policy.ts'
import type { KeySet } from './key-set.ts'
import { OidcAdapter } from './oidc.ts'
import type { SignatureChecks } from './signature-checks.ts'
import { hash } from 'node:crypto'

interface Entry {
  readonly digest: string
  readonly client: ClientPolicy
}

/** Shorter tokens can be guessed. Longer ones can only be OIDC tokens (protocol/gateway 4). */
export const TOKEN_BYTES = { min: 32, max: 1024 } as const

/** Finds clients by the digest of their tokens. The tokens are not stored. */
export class CredentialIndex {
  readonly #entries = new Map<string, Entry>()

  constructor(clients: readonly ClientPolicy[]) {
    for (const client of clients) {
      for (const text of client.tokenDigests) {
        const digest = Buffer.from(text, 'hex').toString('latin1')
        this.#entries.set(digest, { digest, client })
      }
    }
  }

  find(token: string): ClientPolicy | undefined {
    if (token.length < TOKEN_BYTES.min || token.length > TOKEN_BYTES.max) return undefined
    // The latin1 form needs the least work on this platform.
    const digest = hash('sha256', token, 'latin1')
    const entry = this.#entries.get(digest)
    // The map has compared already. This comparison takes the same time for every difference.
    return entry !== undefined && isSame(entry.digest, digest) ? entry.client : undefined
  }
}

function isSame(stored: string, presented: string): boolean {
  let difference = stored.length ^ presented.length
  for (let at = 0; at < stored.length; at += 1) difference |= stored.charCodeAt(at) ^ presented.charCodeAt(at)
  return difference === 0
}

/** Lists the callers that one policy allows. */
export interface Access {
  readonly credentials: CredentialIndex
  readonly clients: ReadonlyMap<string, ClientPolicy>
  readonly oidc: OidcAdapter | undefined
  /** Fetched key sets of user issuers, by issuer. */
  readonly userKeys: ReadonlyMap<string, Pick<KeySet, 'keys' | 'refetch'>>
  readonly isDevelopment: boolean
}

export type AuthMethod = 'bearer' | 'oidc' | 'development'

export interface Caller {
  readonly client: ClientPolicy
  readonly method: AuthMethod
}

export interface PresentedCredential {
  /** Every Authorization header as received. */
  readonly authorization: readonly string[]
  readonly address: string
  /** SHA-256 of the client certificate on this connection. */
  readonly peerCertificate: string | undefined
  /** Client id and token may be sent as RFC 6749 describes. */
  readonly acceptsBasic?: boolean
  /** Returns true after the caller has disconnected. */
  readonly isGone: () => boolean
}

export interface FailureRules {
  readonly limiter: Limiter
  readonly perMinute: number
  readonly checks: SignatureChecks
}

/** A refusal of a caller, with its client when the credential names one. */
export class RefusedCaller extends GatewayRefusal {
  readonly client: ClientPolicy | undefined

  constructor(error: GatewayErrorName, client?: ClientPolicy, options?: GatewayRefusalOptions) {
    super(error, undefined, options)
    this.client = client
  }
}

/** Visible ASCII after the scheme, with nothing before or after it. */
const BEARER = /^Bearer ([!-~]+)$/i
const BASIC = /^Basic ([A-Za-z0-9+/]+={0,2})$/i

/**
 * Finds the caller (protocol/gateway 5.1 step 7, 5.3). A caller with a valid credential is never throttled, whatever
 * other callers send from the same address. Valid are: a matching static credential, a token that was accepted before,
 * and a new token.
 */
export function authenticate(
  access: Access,
  presented: PresentedCredential,
  rules: FailureRules,
  now: Instant,
): MaybePromise<Caller> {
  const { token, clientId: named } = credentialOf(presented)
  const known = token === undefined ? undefined : access.credentials.find(token)
  if (named !== undefined && known?.id !== named) return refuse(presented, rules)
  if (known !== undefined) {
    return admit({ client: known, method: access.isDevelopment ? 'development' : 'bearer' }, presented, now)
  }
  const { oidc } = access
  if (token === undefined || oidc === undefined || !OidcAdapter.isToken(token)) return refuse(presented, rules)
  return andThen(findOrCheckToken(oidc, token, presented, rules), (clientId) => {
    const bound = clientId === undefined ? undefined : access.clients.get(clientId)
    if (bound === undefined) return refuse(presented, rules)
    return admit({ client: bound, method: 'oidc' }, presented, now)
  })
}

function findOrCheckToken(
  oidc: OidcAdapter,
  token: string,
  presented: PresentedCredential,
  rules: FailureRules,
): MaybePromise<string | undefined> {
  return oidc.findAccepted(token) ?? checkToken(oidc, token, presented, rules)
}

/**
 * Verifies the signature, unless the claims already exclude acceptance. After many failures of the address, a new token
 * waits in a queue.
 */
async function checkToken(
  oidc: OidcAdapter,
  token: string,
  presented: PresentedCredential,
  { limiter, perMinute, checks }: FailureRules,
): Promise<string | undefined> {
  const { isGone } = presented
  const address = limitAddress(presented.address)
  const isOver = await limiter.isOver(address, perMinute)
  const client = oidc.claimedClient(token)
  if (isOver && client === undefined) return undefined
  const isSlowed = isOver && !oidc.wasVerified(token)
  const verdict = await checks.run({ address, client: client ?? '', isGone }, isSlowed, () => oidc.verify(token))
  if (verdict === undefined) throw new RefusedCaller('auth_throttled')
  return verdict === 'refused' ? undefined : verdict.clientId
}

/** Counts one more failure of this address. Refuses with 401, and with 429 above the limit. */
async function refuse(
  { address, authorization }: PresentedCredential,
  { limiter, perMinute }: FailureRules,
): Promise<never> {
  const isWithin = await limiter.hit(limitAddress(address), perMinute)
  if (!isWithin) throw new RefusedCaller('auth_throttled')
  throw new RefusedCaller(authorization.length === 0 ? 'credential_missing' : 'credential_invalid')
}

/** The token, and the client that Basic names. */
function credentialOf({ authorization, acceptsBasic = false }: PresentedCredential): {
  readonly token: string | undefined
  readonly clientId?: string
} {
  const [only = ''] = authorization
  if (authorization.length !== 1) return { token: undefined }
  const pair = acceptsBasic ? BASIC.exec(only)?.[1] : undefined
  return pair === undefined ? { token: BEARER.exec(only)?.[1] } : basicCredential(pair)
}

/** Both parts are form-encoded before they are joined (RFC 6749, 2.3.1). */
function basicCredential(pair: string): { readonly token: string | undefined; readonly clientId: string } {
  const [name = '', password = '', ...more] = Buffer.from(pair, 'base64').toString('latin1').split(':')
  const [clientId, token] = [name, password].map(formDecoded)
  if (clientId === undefined || token === undefined || more.length > 0) return { token: undefined, clientId: '' }
  return { token: /^[!-~]+$/.test(token) ? token : undefined, clientId }
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // The only error is malformed percent-encoding: no credential is spelled so.
    return undefined
  }
}

/**
 * Checks the validity period and the bound certificate. Only a caller with the right credential gets these refusals.
 */
function admit(caller: Caller, { peerCertificate }: PresentedCredential, now: Instant): Caller {
  const { notBefore, expiresAt, clientCertificates } = caller.client
  const isInside = (notBefore === undefined || now >= notBefore) && (expiresAt === undefined || now < expiresAt)
  if (!isInside) throw new RefusedCaller('credential_expired', caller.client)
  if (
    clientCertificates !== undefined &&
    (peerCertificate === undefined || !clientCertificates.includes(peerCertificate))
  ) {
    throw new RefusedCaller('client_certificate', caller.client)
  }
  return caller
}
