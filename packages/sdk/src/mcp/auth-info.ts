import { instantOf, seconds } from '@chancery/protocol'
import type { Caller } from '../request-proof/caller.ts'
import type { SigningFetch } from '../request-proof/sign.ts'

/** The caller in the form of the MCP packages, which give it to handlers as `context.http.authInfo`. */
export interface McpAuthInfo {
  /** Empty: a proof is of one request, and no token. */
  token: string
  /** The id of the certificate. */
  clientId: string
  /** The roles of the certificate. */
  scopes: string[]
  /** When the certificate expires, in seconds. */
  expiresAt: number
  extra: Record<string, unknown>
}

const CALLER = 'chancery_caller'

/** Puts the caller of authenticate() where MCP handlers find it. */
export function authInfoOf(caller: Caller): McpAuthInfo {
  const { cert_id, expires_at } = caller.certificate
  const expiresAt = Number(instantOf(expires_at) / seconds(1))
  return { token: '', clientId: cert_id, scopes: [...caller.roles], expiresAt, extra: { [CALLER]: caller } }
}

/** The verified caller of a tool call, from the context of a handler; undefined when no proof was checked. */
export function callerOf(context: unknown): Caller | undefined {
  const { http } = (context ?? {}) as {
    readonly http?: { readonly authInfo?: { readonly extra?: Record<string, unknown> } }
  }
  // Only authInfoOf writes this member.
  return http?.authInfo?.extra?.[CALLER] as Caller | undefined
}

/**
 * Returns the `fetch` of an MCP client transport. Only requests to the endpoint itself are signed: the transport also
 * uses its `fetch` for OAuth discovery at other addresses, which must not receive a proof.
 */
export function createMcpFetch(
  endpoint: string | URL,
  signing: SigningFetch,
  plain: SigningFetch = (input, init) => globalThis.fetch(input, init),
): SigningFetch {
  const { origin, pathname } = new URL(endpoint)
  const choose = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    return url.origin === origin && url.pathname === pathname ? signing(input, init) : plain(input, init)
  }
  return Object.assign(choose, { preconnect: (): void => undefined })
}
