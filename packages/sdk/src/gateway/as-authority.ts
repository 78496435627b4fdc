import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS, OPERATOR_HEADERS, REQUEST_ID_HEADER } from '@chancery/contract'
import type { GatewayOperation } from '@chancery/contract'
import { Endpoints } from '../http/retry.ts'
import { type Client, createClient } from '../client.ts'
import type { ClientOptions } from '../http/connection.ts'
import { RequestError } from '../errors.ts'
import type { Fetch } from '../http/transport.ts'

/** The bearer credential, or a function that returns the current one, because credentials are renewed. */
export type TokenSource = string | (() => string | Promise<string>)

/** Returns the header for one attempt. Errors never contain its text. A line break in it would make two headers. */
export async function bearerHeader(token: TokenSource): Promise<Readonly<Record<string, string>>> {
  const current = typeof token === 'string' ? token : await token()
  if (/^[\x21-\x7e]{1,16384}$/.test(current)) return { Authorization: `Bearer ${current}` }
  throw new RequestError('the bearer credential is not one word of visible characters')
}

/** Address and credential of a gateway. */
export interface GatewayAccess {
  /** Base address of the gateway, or those of its replicas. */
  readonly url: string | readonly string[]
  readonly token: TokenSource
  readonly fetch?: Fetch
}

/** Options of the caller; the gateway determines the others. */
export type AuthorityOptions = Omit<ClientOptions, 'url' | 'fetch'>

/**
 * Creates a client of the authority of one network, through a gateway. Every method works as in a direct client.
 * Signatures are made for the authority's own path, because the authority verifies them; the gateway only
 * passes them on (protocol/gateway 2.8, 12). Calls the gateway does not catalogue fail before anything is sent.
 */
export function asAuthority(gateway: GatewayAccess, network: string, options: AuthorityOptions = {}): Client {
  const bases = new Endpoints(gateway.url).all
  const fetch = gateway.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init))
  return createClient({
    ...options,
    url: bases,
    fetch: async (url, init) => {
      const { method = 'GET' } = init
      const base = bases.find((each) => url.startsWith(`${each}/`)) ?? ''
      const { operation, query } = findOperation(method, url.slice(base.length))
      return fetch(`${base}${pathOf(network, operation)}${query}`, {
        ...init,
        headers: { ...passedHeaders(init.headers), ...jsonType(method), ...(await bearerHeader(gateway.token)) },
        // A call without a body is signed as {}; a gateway requires the body explicitly (protocol/gateway 12.1).
        ...(method !== 'GET' && init.body === undefined ? { body: '{}' } : {}),
      })
    },
  })
}

function pathOf(network: string, { id }: GatewayOperation): string {
  return AUTHORITY_SERVICE_ROUTE.replace('{network}', () => encodeURIComponent(network)).replace('{operation}', id)
}

/** Returns the operation of a target of the authority; path parameters become query parameters of the gateway. */
function findOperation(method: string, target: string): { operation: GatewayOperation; query: string } {
  const cut = target.indexOf('?')
  const segments = (cut < 0 ? target : target.slice(0, cut)).split('/')
  // A literal segment takes precedence over a parameter: /attestations/verify is not the attestation with the id
  // verify.
  const [found] = GATEWAY_OPERATIONS.filter((operation) => operation.method === method)
    .flatMap((operation) => {
      const params = matchPath(operation.upstream_path.split('/'), segments)
      return params === undefined ? [] : [{ operation, params }]
    })
    .sort((a, b) => a.params.length - b.params.length)
  if (found === undefined) throw new RequestError(`a gateway does not forward ${method} ${segments.join('/')}`)
  const given = cut < 0 ? [] : target.slice(cut + 1).split('&')
  const all = [...found.params.map(([name, encoded]) => `${name}=${encoded}`), ...given]
  return { operation: found.operation, query: all.length === 0 ? '' : `?${all.join('&')}` }
}

/** Values stay encoded, because the builder of the target encoded them once. */
function matchPath(
  template: readonly string[],
  sent: readonly string[],
): readonly (readonly [string, string])[] | undefined {
  if (template.length !== sent.length) return undefined
  const params: (readonly [string, string])[] = []
  for (const [index, segment] of template.entries()) {
    const value = sent[index] ?? ''
    if (segment.startsWith('{')) params.push([segment.slice(1, -1), value])
    else if (segment !== value) return undefined
  }
  return params
}

const PASSED: ReadonlySet<string> = new Set(
  ['Accept', 'Accept-Encoding', REQUEST_ID_HEADER, ...Object.values(OPERATOR_HEADERS)].map((name) =>
    name.toLowerCase(),
  ),
)

/**
 * Headers that a gateway forwards. It would silently drop an idempotency key, and with it the guarantee for the caller.
 */
function passedHeaders(headers: RequestInit['headers']): Readonly<Record<string, string>> {
  const given = Object.entries((headers ?? {}) as Readonly<Record<string, string>>)
  if (given.some(([name]) => name.toLowerCase() === 'idempotency-key'))
    throw new RequestError('a gateway does not forward idempotency keys')
  return Object.fromEntries(given.filter(([name]) => PASSED.has(name.toLowerCase())))
}

function jsonType(method: string): Readonly<Record<string, string>> {
  return method === 'GET' ? {} : { 'Content-Type': 'application/json' }
}
