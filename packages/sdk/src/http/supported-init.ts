/** The fields of a request that some runtimes refuse: workerd has no cookies, and knows no redirect mode `error`. */
const PROBED = { redirect: 'error', credentials: 'omit', cache: 'no-store' } as const
type Probed = keyof typeof PROBED

const supported = new Map<Probed, boolean>()

function supports(field: Probed): boolean {
  const known = supported.get(field)
  if (known !== undefined) return known
  let isSupported = true
  try {
    void new Request('http://localhost', { [field]: PROBED[field] })
  } catch {
    isSupported = false
  }
  supported.set(field, isSupported)
  return isSupported
}

/**
 * Sends a request that follows no redirect, with the fields that this runtime has. Where the runtime cannot refuse a
 * redirect itself, the redirect is not followed and its response is refused here.
 */
export async function fetchWithoutRedirect(
  fetch: (url: string, init: RequestInit) => Promise<Response>,
  url: string,
  init: RequestInit,
): Promise<Response> {
  const { credentials, cache, ...rest } = init
  const response = await fetch(url, {
    ...rest,
    redirect: supports('redirect') ? 'error' : 'manual',
    ...(credentials !== undefined && supports('credentials') ? { credentials } : {}),
    ...(cache !== undefined && supports('cache') ? { cache } : {}),
  })
  const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.headers.has('Location'))
  if (!isRedirect || supports('redirect')) return response
  await response.body?.cancel()
  throw new TypeError('unexpected redirect')
}
