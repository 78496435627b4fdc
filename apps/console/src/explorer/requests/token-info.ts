import { GATEWAY_ROUTES } from '@chancery/contract'
import { type Reply, isSuccess, sendRequest } from './send-request.ts'
import type { Operation } from './catalogue.ts'

/** A network as GET /v1/networks returns it for this token, with wire names (protocol/gateway 11). */
export interface NetworkInfo {
  readonly name: string
  readonly ready: boolean
  readonly services_configured: boolean
  readonly anchors: Readonly<Record<string, string>>
  readonly required_roles: readonly string[]
  readonly revocation: {
    readonly issuer: string
    readonly sequence: number
    readonly issued_at: string
    readonly next_update: string
    readonly revoked_count: number
  }
  readonly additional_issuers: readonly {
    readonly issuer: string
    readonly sequence: number
    readonly next_update: string
    readonly ready: boolean
    readonly revoked_count: number
  }[]
  readonly suspect: boolean
  readonly last_refresh: { readonly at: string; readonly outcome: string } | null
  /** The key of the authority that the gateway operator pinned. */
  readonly authority_public_key: string | null
  readonly admin_signature_version: number
}

/** Response of the gateway about a token. */
export interface TokenInfo {
  readonly mode?: 'development'
  readonly policy_revision?: string
  readonly client_id?: string
  readonly service_groups?: readonly string[]
  readonly authority_admin?: boolean
  readonly credential_expires_at?: string | null
  readonly networks: readonly NetworkInfo[]
}

export type TokenInfoResponse = { readonly tokenInfo: TokenInfo } | { readonly refused: Reply }

export async function loadTokenInfo(token: string): Promise<TokenInfoResponse> {
  const reply = await sendRequest({ method: 'GET', target: GATEWAY_ROUTES.networks.path, token })
  // Page and gateway are of one release, so the response has the type above.
  return isSuccess(reply) ? { tokenInfo: JSON.parse(reply.text) as TokenInfo } : { refused: reply }
}

/** Returns why the gateway would refuse the request, without sending it; undefined when it may accept it. */
export function findRefusal(
  operation: Operation,
  tokenInfo: TokenInfo | undefined,
  network: NetworkInfo | undefined,
): string | undefined {
  if (!operation.needsToken) return undefined
  if (tokenInfo === undefined) return 'This operation needs a token. Enter one above.'
  if (operation.isOwn) return undefined
  if (tokenInfo.mode === 'development')
    return 'A gateway in development mode has no networks, so it forwards nothing to an authority.'
  if (network === undefined) return 'This token has no network.'
  if (tokenInfo.service_groups?.includes(operation.group) !== true)
    return `This token may not use the group «${operation.group}». Its groups: ${tokenInfo.service_groups?.join(', ') || 'none'}.`
  if (operation.needsSignature && tokenInfo.authority_admin !== true)
    return 'This token may not forward operator-signed operations (authority_admin is off in the policy).'
  if (!network.services_configured)
    return `The gateway has no address for the authority of ${network.name}: its policy sets no authority_url.`
  return undefined
}
