import { OPERATOR_HEADERS } from '@chancery/contract'

export type PastedHeaders = Readonly<Record<string, string>>

/**
 * Reads the four operator headers from pasted text: lines of `Name: value`, or the JSON object of the library. Returns
 * undefined when one is missing, repeated or not visible ASCII.
 */
export function readPastedHeaders(text: string): PastedHeaders | undefined {
  const found = new Map<string, string>()
  for (const [, name = '', value = ''] of text.matchAll(/["']?(X-Admin-[A-Za-z-]+)["']?\s*:\s*["']?([^\s"',]+)/gi)) {
    if (found.has(name.toLowerCase())) return undefined
    found.set(name.toLowerCase(), value)
  }
  const entries = Object.values(OPERATOR_HEADERS).map((name) => [name, found.get(name.toLowerCase()) ?? ''] as const)
  if (entries.some(([, value]) => !/^[!-~]{1,512}$/.test(value))) return undefined
  return Object.fromEntries(entries)
}
