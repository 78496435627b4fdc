import { AUTHORITY_SERVICE_ROUTE, GATEWAY_OPERATIONS, OPERATOR_HEADERS, REQUEST_ID_HEADER } from '@chancery/contract'
import type { GatewayOperation } from '@chancery/contract'
import { Endpoints } from '../http/retry.ts'
import { UsageError } from '../errors.ts'
import type { Fetch } from '../http/transport.ts'
import { type TokenSource, bearerHeader } from './bearer.ts'

/** Address and credential of a gateway. */
export interface GatewayAccess {
  /** Base address of the gateway, or those of its replicas. */
  readonly url: string | readonly string[]
  readonly token: TokenSource
  readonly fetch?: Fetch
}

/**
 * Returns the `fetch` of a client whose calls go through a gateway. Every method works as in a direct client. Signatures
 * are made for the authority's own path, because the authority verifies them; the gateway only passes them on
 * (protocol/gateway 2.8, 12). Calls the gateway does not catalogue fail before anything is sent.
 */
export function fetchThrough(gateway: GatewayAccess, network: string): Fetch {
  const bases = new Endpoints(gateway.url).all
  const fetch = gateway.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init))
  return async (url, init) => {
    const { method = 'GET' } = init
    const base = bases.find((each) => url.startsWith(`${each}/`)) ?? ''
    const { operation, query } = findOperation(method, url.slice(base.length))
    return fetch(`${base}${pathOf(network, operation)}${query}`, {
      ...init,
      headers: { ...passedHeaders(init.headers), ...jsonType(method), ...(await bearerHeader(gateway.token)) },
      // A call without a body is signed as {}; a gateway requires the body explicitly (protocol/gateway 12.1).
      ...(method !== 'GET' && init.body === undefined ? { body: '{}' } : {}),
    })
  }
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
  if (found === undefined) throw new UsageError(`a gateway does not forward ${method} ${segments.join('/')}`)
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
    throw new UsageError('a gateway does not forward idempotency keys')
  return Object.fromEntries(given.filter(([name]) => PASSED.has(name.toLowerCase())))
}

function jsonType(method: string): Readonly<Record<string, string>> {
  return method === 'GET' ? {} : { 'Content-Type': 'application/json' }
}
