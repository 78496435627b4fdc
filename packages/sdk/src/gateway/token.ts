import { RequestError } from '../errors.ts'

/** The bearer credential, or where to get the current one: credentials are renewed. */
export type TokenSource = string | (() => string | Promise<string>)

/** The header for one attempt. Its text is never repeated in an error, and with a line break it would be two headers. */
export async function bearerHeader(token: TokenSource): Promise<Readonly<Record<string, string>>> {
  const current = typeof token === 'string' ? token : await token()
  if (/^[\x21-\x7e]{1,16384}$/.test(current)) return { Authorization: `Bearer ${current}` }
  throw new RequestError('the bearer credential is not one word of visible characters')
}
