import { BlockList, isIP } from 'node:net'
import { addressForms, isRefusedLiteral } from '@chancery/service-kit'
import type { Problems } from './form.ts'

/** Addresses inside the operator's own networks. */
const LOCAL = new BlockList()
for (const [net, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const) {
  LOCAL.addSubnet(net, bits, 'ipv4')
}
LOCAL.addSubnet('fc00::', 7, 'ipv6')
LOCAL.addAddress('::1', 'ipv6')

export interface UrlRules {
  readonly allowHttp: boolean
  /** A bare origin: no path, query or fragment. */
  readonly origin: boolean
}

/** Returns a URL that the gateway may call (protocol/gateway 3.4), or adds a problem that does not print it. */
export function checkUrl(value: unknown, path: string, problems: Problems, rules: UrlRules): URL | undefined {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const problem = url === undefined ? 'must be a URL' : urlProblem(url, String(value), rules)
  if (problem !== undefined) problems.add(path, problem)
  return problem === undefined ? url : undefined
}

/** The address that the lists of an authority begin with. Undefined for an address of another form, such as of a file. */
export function authorityAddress(listUrl: URL | undefined): string | undefined {
  if (listUrl === undefined || listUrl.search !== '') return undefined
  const path = /^(.*)\/crl(?:\/keys\/.+)?$/.exec(listUrl.pathname)?.[1]
  return path === undefined ? undefined : `${listUrl.origin}${path}`
}

/** Whether a URL names this machine by an address. A name could resolve elsewhere. */
export function isLoopbackUrl(value: unknown): boolean {
  const host = typeof value === 'string' && URL.canParse(value) ? new URL(value).hostname : ''
  return host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

function urlProblem(url: URL, text: string, { allowHttp, origin }: UrlRules): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL'
  if (url.protocol === 'http:' && !allowHttp) return 'must be an https URL (or set allow_http)'
  if (url.username !== '' || url.password !== '') return 'must not contain user info'
  if (text.includes('#')) return 'must not contain a fragment'
  if (origin && (url.pathname !== '/' || text.includes('?')))
    return 'must be a bare origin: scheme, host, optional port'
  // Refused here too, so that an operator gets the problem at the start and not at the first call.
  if (isRefusedLiteral(url)) return 'must not be an unspecified, link-local, metadata or multicast address'
  if (url.protocol === 'http:' && isRoutableLiteral(url.hostname)) return 'must not be plain http to a public address'
  return undefined
}

/** Uses the address where a connection ends: a mapped public address is a public address. */
function isRoutableLiteral(hostname: string): boolean {
  const form = addressForms(hostname).at(-1)
  return form !== undefined && !LOCAL.check(form, isIP(form) === 4 ? 'ipv4' : 'ipv6')
}
