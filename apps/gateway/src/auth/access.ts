import { GatewayRefusal } from '@chancery/contract'
import type { GatewayErrorName, GatewayRefusalOptions } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { after, limitAddress } from '@chancery/service-kit'
import type { Limiter, Soon } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { CredentialIndex } from './credentials.ts'
import { OidcAdapter } from './oidc.ts'
import type { SignatureChecks } from './signature-checks.ts'

/** Who may call, as one policy says it. */
export interface Access {
  readonly credentials: CredentialIndex
  readonly clients: ReadonlyMap<string, ClientPolicy>
  readonly oidc: OidcAdapter | undefined
  readonly isDevelopment: boolean
}

export interface Caller {
  readonly client: ClientPolicy
  readonly method: NonNullable<AuditContext['auth_method']>
}

export interface Presented {
  /** Every Authorization header as received. */
  readonly authorization: readonly string[]
  readonly address: string
  /** SHA-256 of the client certificate on this connection. */
  readonly peerCertificate: string | undefined
  /** True once nobody waits for an answer any more. */
  readonly isGone: () => boolean
}

export interface FailureRules {
  readonly limiter: Limiter
  readonly perMinute: number
  readonly checks: SignatureChecks
}

/** A refused caller, with the client it is known to be, if any. */
export class RefusedCaller extends GatewayRefusal {
  readonly client: ClientPolicy | undefined

  constructor(error: GatewayErrorName, client?: ClientPolicy, options?: GatewayRefusalOptions) {
    super(error, undefined, options)
    this.client = client
  }
}

/** Visible ASCII after the scheme, nothing before or behind it. */
const BEARER = /^Bearer ([!-~]+)$/i

/**
 * Who is calling (protocol/gateway 5.1 step 7, 5.3). Whoever brings something good is never throttled, whatever others
 * behind the same address bring: a matching static credential, a token that was accepted before, or a new token.
 */
export function authenticate(access: Access, presented: Presented, rules: FailureRules, now: Instant): Soon<Caller> {
  const token = tokenOf(presented.authorization)
  const known = token === undefined ? undefined : access.credentials.find(token)
  if (known !== undefined) {
    return admit({ client: known, method: access.isDevelopment ? 'development' : 'bearer' }, presented, now)
  }
  const { oidc } = access
  if (token === undefined || oidc === undefined || !OidcAdapter.isToken(token)) return refuse(presented, rules)
  return after(acceptedOrJudged(oidc, token, presented, rules), (clientId) => {
    const bound = clientId === undefined ? undefined : access.clients.get(clientId)
    if (bound === undefined) return refuse(presented, rules)
    return admit({ client: bound, method: 'oidc' }, presented, now)
  })
}

function acceptedOrJudged(
  oidc: OidcAdapter,
  token: string,
  presented: Presented,
  rules: FailureRules,
): Soon<string | undefined> {
  return oidc.findAccepted(token) ?? judgeToken(oidc, token, presented, rules)
}

/** Checks a signature unless that cannot help. After many failures of the address a new token waits for its turn. */
async function judgeToken(
  oidc: OidcAdapter,
  token: string,
  presented: Presented,
  { limiter, perMinute, checks }: FailureRules,
): Promise<string | undefined> {
  const { isGone } = presented
  const address = limitAddress(presented.address)
  const isOver = await limiter.isOver(address, perMinute)
  const client = oidc.claimedClient(token)
  if (isOver && client === undefined) return undefined
  const isSlowed = isOver && !oidc.wasVerified(token)
  const verdict = await checks.take({ address, client: client ?? '', isGone }, isSlowed, () => oidc.judge(token))
  if (verdict === undefined) throw new RefusedCaller('auth_throttled')
  return verdict === 'refused' ? undefined : verdict.clientId
}

/** One more failure of this address: 401, and 429 above the limit. */
async function refuse({ address, authorization }: Presented, { limiter, perMinute }: FailureRules): Promise<never> {
  const isWithin = await limiter.hit(limitAddress(address), perMinute)
  if (!isWithin) throw new RefusedCaller('auth_throttled')
  throw new RefusedCaller(authorization.length === 0 ? 'credential_missing' : 'credential_invalid')
}

function tokenOf(authorization: readonly string[]): string | undefined {
  const [only] = authorization
  return authorization.length === 1 ? BEARER.exec(only ?? '')?.[1] : undefined
}

/** The window and the certificate a credential is bound to; said only to those who presented the right one. */
function admit(caller: Caller, { peerCertificate }: Presented, now: Instant): Caller {
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
