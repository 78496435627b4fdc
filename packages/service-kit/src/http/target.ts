import { SERVER_LIMITS, Refusal } from '@chancery/contract'
import { MalformedRequestError } from './malformed-request.ts'
import { fromUtf8, toUtf8 } from '@chancery/protocol'

/** Decoded parameters in order of appearance. */
export interface Query {
  /** Returns the first value of a parameter. */
  first(name: string): string | undefined
  /** Every name with its values, as operator signatures cover them. */
  toObject(): { readonly [name: string]: readonly string[] }
}

/** Returns path and query of a request target in origin form; other forms are `bad_request` (protocol/core 3). */
export function readTarget(target: string): { readonly path: string; readonly query: Query } {
  // Absolute form, authority form and fragments are refused.
  if (!target.startsWith('/') || target.includes('#')) throw new MalformedRequestError()
  const cut = target.indexOf('?')
  const path = decode(cut < 0 ? target : target.slice(0, cut))
  return { path, query: readQuery(cut < 0 ? '' : target.slice(cut + 1)) }
}

const NO_QUERY: Query = { first: () => undefined, toObject: () => ({}) }

function readQuery(text: string): Query {
  if (text === '') return NO_QUERY
  const values = new Map<string, string[]>()
  let count = 0
  for (const part of text.split('&')) {
    if (part === '') continue
    count += 1
    if (count > SERVER_LIMITS.queryParameters) throw new Refusal('bad_request')
    const cut = part.indexOf('=')
    const name = decode((cut < 0 ? part : part.slice(0, cut)).replaceAll('+', ' '))
    const value = decode((cut < 0 ? '' : part.slice(cut + 1)).replaceAll('+', ' '))
    if (toUtf8(value).length > SERVER_LIMITS.queryValueBytes) throw new Refusal('bad_request')
    const present = values.get(name)
    if (present === undefined) values.set(name, [value])
    else present.push(value)
  }
  return { first: (name) => values.get(name)?.[0], toObject: () => Object.fromEntries(values) }
}

/** Percent-decodes exactly once. A result that is not UTF-8 is refused. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  const bytes: number[] = []
  for (let i = 0; i < text.length; i += 1) {
    if (text.charAt(i) === '%') {
      const hex = text.slice(i + 1, i + 3)
      if (!/^[0-9A-Fa-f]{2}$/.test(hex)) throw new Refusal('bad_request')
      bytes.push(Number.parseInt(hex, 16))
      i += 2
    } else {
      // Node returns the target as Latin-1, one character per byte.
      bytes.push(text.charCodeAt(i))
    }
  }
  const decoded = fromUtf8(Uint8Array.from(bytes))
  // Much software ends a text at a NUL, and PostgreSQL cannot store it.
  if (decoded === undefined || decoded.includes('\0')) throw new Refusal('bad_request')
  return decoded
}
