import { BlockList, isIP } from 'node:net'
import type { Problems } from './form.ts'

/** Addresses that never leave the operator's own networks. */
const LOCAL = new BlockList()
for (const [net, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  LOCAL.addSubnet(net, bits, 'ipv4')
}
LOCAL.addSubnet('fc00::', 7, 'ipv6')
LOCAL.addSubnet('fe80::', 10, 'ipv6')
LOCAL.addAddress('::1', 'ipv6')

export interface UrlRules {
  readonly allowHttp: boolean
  /** A bare origin: no path, query or fragment. */
  readonly origin: boolean
}

/** An address the gateway may call (protocol/gateway 3.4), or a problem that does not print it. */
export function checkUrl(value: unknown, path: string, problems: Problems, rules: UrlRules): URL | undefined {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const problem = url === undefined ? 'must be a URL' : urlProblem(url, String(value), rules)
  if (problem !== undefined) problems.add(path, problem)
  return problem === undefined ? url : undefined
}

function urlProblem(url: URL, text: string, { allowHttp, origin }: UrlRules): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL'
  if (url.protocol === 'http:' && !allowHttp) return 'must be an https URL (or set allow_http)'
  if (url.username !== '' || url.password !== '') return 'must not hold user info'
  if (text.includes('#')) return 'must not hold a fragment'
  if (origin && (url.pathname !== '/' || text.includes('?')))
    return 'must be a bare origin: scheme, host, optional port'
  if (url.protocol === 'http:' && isRoutableLiteral(url.hostname)) return 'must not be plain http to a public address'
  return undefined
}

function isRoutableLiteral(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const kind = isIP(host)
  return kind !== 0 && !LOCAL.check(host, kind === 4 ? 'ipv4' : 'ipv6')
}
