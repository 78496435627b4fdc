import { UsageError } from '../errors.ts'

/** The bearer credential, or a function that returns the current one, because credentials are renewed. */
export type TokenSource = string | (() => string | Promise<string>)

/** Returns the header for one attempt. Errors never contain its text. A line break in it would make two headers. */
export async function bearerHeader(token: TokenSource): Promise<Readonly<Record<string, string>>> {
  const current = typeof token === 'string' ? token : await token()
  if (/^[\x21-\x7e]{1,16384}$/.test(current)) return { Authorization: `Bearer ${current}` }
  throw new UsageError('the bearer credential is not one word of visible characters')
}
