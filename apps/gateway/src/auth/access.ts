import { GatewayRefusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { limitAddress } from '@chancery/service-kit'
import type { Limiter, Soon } from '@chancery/service-kit'
import type { AuditContext } from '../audit/audit-context.ts'
import type { ClientPolicy } from '../policy/policy.ts'
import type { CredentialIndex } from './credentials.ts'
import { OidcAdapter } from './oidc.ts'

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
}

export interface FailureRules {
  readonly limiter: Limiter
  readonly perMinute: number
  /** Called for every failure that is answered as one. */
  readonly onFailure: () => void
  readonly onThrottled: () => void
}

/** Visible ASCII after the scheme, nothing before or behind it. */
const BEARER = /^Bearer ([!-~]+)$/i

/**
 * Who is calling (protocol/gateway 5.1 step 7, 5.3). A matching static credential is never throttled, so that callers
 * behind one shared address cannot lock each other out; of everything else no signature is checked above the limit.
 */
export function authenticate(access: Access, presented: Presented, rules: FailureRules, now: Instant): Soon<Caller> {
  const token = tokenOf(presented.authorization)
  const known = token === undefined ? undefined : access.credentials.find(token)
  if (known !== undefined) {
    return admit({ client: known, method: access.isDevelopment ? 'development' : 'bearer' }, presented, now)
  }
  return authenticateStranger(token, access, presented, rules, now)
}

async function authenticateStranger(
  token: string | undefined,
  access: Access,
  presented: Presented,
  rules: FailureRules,
  now: Instant,
): Promise<Caller> {
  const bucket = limitAddress(presented.address)
  if (await rules.limiter.isOver(bucket, rules.perMinute)) {
    rules.onThrottled()
    throw new GatewayRefusal('auth_throttled')
  }
  const bound = token === undefined ? undefined : await judgeToken(access, token)
  if (bound !== undefined) return admit({ client: bound, method: 'oidc' }, presented, now)
  await rules.limiter.hit(bucket, rules.perMinute)
  rules.onFailure()
  throw new GatewayRefusal(presented.authorization.length === 0 ? 'credential_missing' : 'credential_invalid')
}

function tokenOf(authorization: readonly string[]): string | undefined {
  const [only] = authorization
  return authorization.length === 1 ? BEARER.exec(only ?? '')?.[1] : undefined
}

async function judgeToken({ oidc, clients }: Access, token: string): Promise<ClientPolicy | undefined> {
  if (oidc === undefined || !OidcAdapter.isToken(token)) return undefined
  const verdict = await oidc.judge(token)
  return verdict === 'refused' ? undefined : clients.get(verdict.clientId)
}

/** The window and the certificate a credential is bound to; said only to those who presented the right one. */
function admit(caller: Caller, { peerCertificate }: Presented, now: Instant): Caller {
  const { notBefore, expiresAt, clientCertificates } = caller.client
  const isInside = (notBefore === undefined || now >= notBefore) && (expiresAt === undefined || now < expiresAt)
  if (!isInside) throw new GatewayRefusal('credential_expired')
  if (
    clientCertificates !== undefined &&
    (peerCertificate === undefined || !clientCertificates.includes(peerCertificate))
  ) {
    throw new GatewayRefusal('client_certificate')
  }
  return caller
}
