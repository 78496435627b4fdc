import { GatewayRefusal } from '@chancery/contract'
import type { RequestHeaders } from '@chancery/service-kit'
import type { CheckedRequest, Dialect } from './checked-request.ts'

/** The path of the check on its listener. Everything below it belongs to the check, too. */
export const CHECK_PREFIX = '/check'

type HttpDialect = Exclude<Dialect, 'grpc'>

/** Where method and target are. Envoy sends the original request line after the prefix. */
const HEADERS = {
  forwarded: ['x-forwarded-method', 'x-forwarded-uri'],
  original: ['x-original-method', 'x-original-uri'],
} as const

interface AskedRequest {
  readonly method: string
  readonly target: string
  readonly headers: RequestHeaders
}

/** Returns method and target of the original request. Refuses what has two readings. */
export function readOriginal(dialect: HttpDialect, asked: AskedRequest): Pick<CheckedRequest, 'method' | 'target'> {
  const below = asked.target.startsWith(CHECK_PREFIX) ? asked.target.slice(CHECK_PREFIX.length) : undefined
  if (below === undefined || !/^(?:$|[/?])/.test(below)) throw new GatewayRefusal('check_headers')
  if (dialect === 'envoy') return checkOriginal({ method: asked.method, target: below })
  const [method, target] = HEADERS[dialect].map((name) => onlyValue(asked.headers.all(name)))
  return checkOriginal({ method: method ?? '', target: target ?? '' })
}

/** A repeated header has two readings. */
function onlyValue(values: readonly string[]): string {
  const [value] = values
  if (value === undefined || values.length !== 1) throw new GatewayRefusal('check_headers')
  return value
}

/** Visible ASCII. Absolute form, authority form and fragments are refused, as at the edge of the gateway. */
export function checkOriginal(original: { readonly method: string; readonly target: string }): typeof original {
  const { method, target } = original
  const isPlain = /^[A-Z][A-Z-]{0,31}$/.test(method) && /^\/[!-~]*$/.test(target) && !target.includes('#')
  if (!isPlain || method === 'TRACE' || method === 'CONNECT') throw new GatewayRefusal('check_headers')
  return original
}
