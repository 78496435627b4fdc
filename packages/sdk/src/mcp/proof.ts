import { instantOf, seconds } from '@chancery/protocol'
import { type WebRequestVerifierOptions, honoNodeProof } from '../request-proof/hono.ts'
import type { SigningFetch } from '../request-proof/sign.ts'
import type { NodeCaller } from '../request-proof/verify.ts'

/**
 * Returns the `fetch` of an MCP client transport. Only requests to the endpoint itself are proved: the transport also
 * uses its `fetch` for OAuth discovery at other addresses, which must not receive a proof.
 */
export function mcpFetch(
  endpoint: string | URL,
  prove: SigningFetch,
  plain: SigningFetch = (input, init) => globalThis.fetch(input, init),
): SigningFetch {
  const { origin, pathname } = new URL(endpoint)
  const choose = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    return url.origin === origin && url.pathname === pathname ? prove(input, init) : plain(input, init)
  }
  return Object.assign(choose, { preconnect: (): void => undefined })
}

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

export interface OriginOptions {
  /** Origins of web pages that may call. Without them, every request with an Origin header is refused. */
  readonly allowedOrigins?: readonly string[]
}

/** A handler with web requests, such as `createMcpHandler(factory)`. */
export interface McpWebHandler {
  fetch(request: Request, options: { authInfo: McpAuthInfo }): Promise<Response>
}

/**
 * For servers with web requests: `serve({ fetch: mcpWebProof(options, createMcpHandler(factory)) })`. The server of Hono
 * for Node.js gives the request as received as the second argument; for others see `normalisedTarget`.
 */
export function mcpWebProof(
  { allowedOrigins = [], ...options }: WebRequestVerifierOptions & OriginOptions,
  handler: McpWebHandler,
): (request: Request, env?: unknown) => Promise<Response> {
  const check = honoNodeProof(options)
  return async (request, env) => {
    if (!isAllowedOrigin(request.headers.get('origin') ?? undefined, allowedOrigins))
      return Response.json(ORIGIN_ERROR, { status: 403 })
    let caller: NodeCaller | undefined
    let response: Response | undefined
    const refusal = await check({ req: { raw: request }, env, set: (_name, node) => (caller = node) }, async () => {
      if (caller !== undefined) response = await handler.fetch(request, { authInfo: toAuthInfo(caller) })
    })
    return refusal ?? response ?? new Response(undefined, { status: 500 })
  }
}

const CALLER = 'chancery_node'

/** Returns the node that called a tool, from the context of its handler; undefined when no proof was checked. */
export function mcpCaller(context: unknown): NodeCaller | undefined {
  const { http } = context as { readonly http?: { readonly authInfo?: { readonly extra?: Record<string, unknown> } } }
  // Only toAuthInfo writes this member.
  return http?.authInfo?.extra?.[CALLER] as NodeCaller | undefined
}

export function toAuthInfo(node: NodeCaller): McpAuthInfo {
  const { cert_id, expires_at } = node.certificate
  const expiresAt = Number(instantOf(expires_at) / seconds(1))
  return { token: '', clientId: cert_id, scopes: [...node.roles], expiresAt, extra: { [CALLER]: node } }
}

export const ORIGIN_ERROR = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: 'This origin is not allowed.' },
}

export function isAllowedOrigin(origin: string | undefined, allowed: readonly string[]): boolean {
  return origin === undefined || allowed.includes(origin)
}
