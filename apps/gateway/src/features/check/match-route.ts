import { GatewayRefusal } from '@chancery/contract'
import { fromUtf8 } from '@chancery/protocol'
import type { CheckRoute, PatternSegment } from '../../policy/policy.ts'

export interface MatchedRoute {
  readonly route: CheckRoute
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
}

/**
 * Finds the route of a request. The first route that matches is used; without one the request is refused. A path that
 * a server could read in two ways is refused as well, so that the check and the service cannot mean different things.
 */
export function matchRoute(routes: readonly CheckRoute[], method: string, target: string): MatchedRoute {
  const segments = readPath(pathOf(target))
  const possible = routes.filter((route) => route.method === '*' || route.method === method)
  const route = possible.find((each) => matches(each.segments, segments, exact))
  if (route === undefined) throw new GatewayRefusal('route_denied')
  // Servers that ignore case or a trailing slash must get the same route.
  const other = segments.at(-1) === '' ? segments.slice(0, -1) : [...segments, '']
  for (const [reading, equal] of [[segments, folded] as const, [other, exact] as const, [other, folded] as const]) {
    const found = possible.find((each) => matches(each.segments, reading, equal))
    if (found !== undefined && found !== route) throw new GatewayRefusal('path_ambiguous')
  }
  return { route, params: paramsOf(route.segments, segments) }
}

/** Returns the path of a target as sent, without the query. */
function pathOf(target: string): string {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** Characters that are sent as they are. All servers read them in one way. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,=:@-]$/
const PLAIN_TEXT = /^[A-Za-z0-9._~!$&'()*+,=:@-]*$/
/** Percent-encoded, these end a part of the path for one server and not for another. */
const SPECIAL = /[/\\%?#;]|\p{C}/u

/** Returns the decoded segments, or refuses. The last segment is empty after a trailing slash. */
export function readPath(path: string): readonly string[] {
  if (!path.startsWith('/')) return ambiguous()
  const segments = path.slice(1).split('/').map(readSegment)
  // An empty segment is `//`; only the last may be empty.
  if (segments.slice(0, -1).includes('')) return ambiguous()
  return segments
}

function readSegment(sent: string): string {
  if (sent === '.' || sent === '..') return ambiguous()
  if (PLAIN_TEXT.test(sent)) return sent
  let text = ''
  for (let at = 0; at < sent.length;) {
    const letter = sent[at] ?? ''
    if (PLAIN.test(letter)) {
      text += letter
      at += 1
      continue
    }
    const encoded = /^(?:%[0-9A-Fa-f]{2})+/.exec(sent.slice(at))?.[0]
    if (encoded === undefined) return ambiguous()
    text += decode(encoded)
    at += encoded.length
  }
  // A service may normalise the text, for example a wide slash to a slash, or drop spaces at an end: `..%20`.
  return text.normalize('NFKC').trim() === text ? text : ambiguous()
}

/** Decodes percent-encoded bytes. A character that could have been sent as it is has two spellings, and is refused. */
function decode(encoded: string): string {
  const bytes = Uint8Array.from(encoded.slice(1).split('%'), (hex) => Number.parseInt(hex, 16))
  const text = fromUtf8(bytes) ?? ambiguous()
  return [...text].some((letter) => PLAIN.test(letter) || SPECIAL.test(letter)) ? ambiguous() : text
}

function ambiguous(): never {
  throw new GatewayRefusal('path_ambiguous')
}

type Equal = (fixed: string, sent: string) => boolean
const exact: Equal = (fixed, sent) => fixed === sent
const folded: Equal = (fixed, sent) => fixed.toLowerCase() === sent.toLowerCase()

function matches(pattern: readonly PatternSegment[], segments: readonly string[], equal: Equal): boolean {
  const hasRest = pattern.at(-1)?.kind === 'rest'
  if (hasRest ? segments.length < pattern.length : segments.length !== pattern.length) return false
  return pattern.every((each, index) => {
    const sent = segments[index] ?? ''
    if (each.kind === 'text') return equal(each.text, sent)
    return each.kind === 'rest' || sent !== ''
  })
}

function paramsOf(pattern: readonly PatternSegment[], segments: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pattern.flatMap((each, index): [string, string][] => {
      if (each.kind === 'text') return []
      return [[each.name, each.kind === 'rest' ? segments.slice(index).join('/') : (segments[index] ?? '')]]
    }),
  )
}
