/** Requests of the explorer. All go to the gateway that served the page (protocol/gateway 17). */

const LIMIT_MS = 20_000

export interface Question {
  readonly method: string
  /** Path and query at this gateway. */
  readonly target: string
  readonly token?: string | undefined
  /** Sent unchanged, because the signature covers this text. */
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** One response of any status, for display. */
export interface Reply {
  readonly status: number
  readonly text: string
  readonly milliseconds: number
  readonly requestId: string | undefined
  readonly upstreamRequestId: string | undefined
  readonly retryAfter: string | undefined
}

/** No response arrived, so the outcome is unknown. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
}

/** Sends no cookies, follows no redirects, which could leak the token, and caches nothing. */
export async function sendRequest({ method, target, token, body, headers }: Question): Promise<Reply> {
  const started = performance.now()
  try {
    const response = await fetch(target, {
      method,
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      signal: AbortSignal.timeout(LIMIT_MS),
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    return {
      status: response.status,
      text: await response.text(),
      milliseconds: Math.round(performance.now() - started),
      requestId: response.headers.get('x-request-id') ?? undefined,
      upstreamRequestId: response.headers.get('x-upstream-request-id') ?? undefined,
      retryAfter: response.headers.get('retry-after') ?? undefined,
    }
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    throw new NoResponseError(
      isLate
        ? `No response within ${LIMIT_MS / 1000} seconds. The request may have been executed. Check the state before you repeat it.`
        : 'The gateway did not respond. The request may have been executed. Check the state before you repeat it.',
      { cause: error },
    )
  }
}

export function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300
}
