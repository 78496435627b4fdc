import type { Route } from '@chancery/contract'
import { UsageError } from '../errors.ts'

/** Values are sent in this order; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

/** One request target in both forms: as it travels, and as the authority reads and an operator signs it. */
export interface Target {
  /** Path and query, percent-encoded once. */
  readonly encoded: string
  readonly path: string
  readonly query: Readonly<Record<string, readonly string[]>>
}

/**
 * The base address without a trailing slash. It may have a path that a proxy strips; signatures never cover that path
 * (protocol/core 11.2). Credentials in an address would end up in logs, so they are refused.
 */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError('the address of the authority must be an http or https URL')
  }
  if (url.username !== '' || url.password !== '') throw new UsageError('the address must not hold credentials')
  if (url.search !== '' || url.hash !== '') throw new UsageError('the address must not have a query or fragment')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** Fills the path of a route and adds the query. */
export function toTarget(
  route: Pick<Route, 'path' | 'params'>,
  params: Readonly<Record<string, string>> = {},
  query: Query = {},
): Target {
  let [path, encodedPath] = [route.path, route.path]
  for (const name of route.params) {
    const value = readParam(name, Object.hasOwn(params, name) ? params[name] : undefined)
    // A function as replacement: `$&` in a value is text, not a pattern.
    path = path.replace(`{${name}}`, () => value)
    encodedPath = encodedPath.replace(`{${name}}`, () => encodeURIComponent(value))
  }
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  )
  const search = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
  return {
    encoded: search === '' ? encodedPath : `${encodedPath}?${search}`,
    path,
    query: Object.fromEntries(pairs.map(([name, value]) => [name, [value]])),
  }
}

/** Dot segments are refused: URL parsers resolve `..` and `%2e%2e` alike, and the call would reach another route. */
function readParam(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new UsageError(`${name} is required`)
  if (value === '.' || value === '..') throw new UsageError(`${name} must not be a dot segment`)
  if (!value.isWellFormed()) throw new UsageError(`${name} holds an unpaired surrogate`)
  return value
}
