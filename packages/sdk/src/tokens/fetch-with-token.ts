import type { Instant } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { type Fetch, fetchWithoutRedirect } from '../http/transport.ts'
import type { AccessToken, TokenRequest } from './access-token.ts'

export interface TokenFetchOptions extends Omit<TokenRequest, 'resource'> {
  /** The gateway that issues tokens of the service: an origin that you trust. */
  readonly issuer: string
  readonly fetch?: Fetch
}

interface TokenSource {
  readonly resource: string
  readonly clock: () => Instant
  readonly fetch: Fetch
  readonly renew: () => Promise<AccessToken>
}

/**
 * A `fetch` for one service with an access token, which is renewed at half of its life. Calls at the same time share one
 * request for a token. A URL outside of the resource gets no token.
 */
export function fetchWithToken({ resource, clock, fetch, renew }: TokenSource): Fetch {
  let held: { readonly token: AccessToken; readonly renewAt: Instant } | undefined
  let asked: Promise<AccessToken> | undefined
  const ask = async (): Promise<AccessToken> => {
    const before = clock()
    const token = await renew()
    held = { token, renewAt: before + (token.expiresAt - before) / 2n }
    return token
  }
  const current = (): Promise<AccessToken> => {
    if (held !== undefined && clock() < held.renewAt) return Promise.resolve(held.token)
    asked ??= ask().finally(() => {
      asked = undefined
    })
    return asked
  }
  return async (url, init) => {
    if (!isWithin(resource, url)) throw new UsageError('this fetch sends its token to its resource only')
    const token = await current()
    const answer = await send(url, init, token, undefined)
    const nonce = answer.headers.get('dpop-nonce') ?? undefined
    const isRepeatable = init.body === undefined || init.body === null || typeof init.body === 'string'
    if (answer.status !== 401 || nonce === undefined || token.dpopKey === undefined || !isRepeatable) return answer
    await answer.body?.cancel()
    return send(url, init, token, nonce)
  }

  async function send(
    url: string,
    init: RequestInit,
    { token, type, dpopKey }: AccessToken,
    nonce: string | undefined,
  ): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('authorization', `${type} ${token}`)
    const method = (init.method ?? 'GET').toUpperCase()
    if (dpopKey !== undefined) headers.set('dpop', await dpopKey.prove({ method, url, now: clock(), token, nonce }))
    return fetchWithoutRedirect(fetch, url, { ...init, headers })
  }
}

/** The same origin, and the path of the resource or a path below it. */
function isWithin(resource: string, url: string): boolean {
  const [base, asked] = [new URL(resource), new URL(url)]
  const path = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  return base.origin === asked.origin && `${asked.pathname}/`.startsWith(path)
}
