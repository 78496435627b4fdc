import type { AgentDescriptor } from '@chancery/protocol'
import { misuse } from '../../failure.ts'
import type { Failure } from '../../failure.ts'

export type Endpoint = AgentDescriptor['endpoint']

const PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443 }

export interface Address {
  readonly endpoint: Endpoint
  /** Path and query, when there is more than the root. */
  readonly path: string | undefined
  /** Scheme, host and port as a URL has them. */
  readonly origin: string
}

/** Takes a URL apart. The scheme stays as it is: http does not become ws, for the agent said what it speaks. */
export function readAddress(text: string, said: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '') throw wrong(said, 'it is not a URL such as wss://host:7448')
  const scheme = url.protocol.slice(0, -1)
  if (!/^[a-z][a-z0-9+.-]{0,15}$/.test(scheme)) throw wrong(said, 'its scheme is longer than 16 characters')
  // A password in a public registration would be one no longer.
  if (url.username !== '' || url.password !== '') throw wrong(said, 'it holds a user name or password')
  const port = url.port === '' ? PORTS[scheme] : Number(url.port)
  if (port === undefined || port < 1) throw wrong(said, `the usual port of ${scheme} is not known: name one`)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const path = `${url.pathname}${url.search}`
  return {
    endpoint: { host, port, scheme },
    path: path === '' || path === '/' ? undefined : path,
    origin: `${scheme}://${url.host}`,
  }
}

/** --endpoint: nothing but scheme, host and port, because nothing else is registered. */
export function readEndpoint(text: string): Endpoint {
  const { endpoint, path } = readAddress(text, '--endpoint')
  if (path !== undefined)
    throw wrong('--endpoint', 'only scheme, host and port are registered; put a path into --metadata')
  return endpoint
}

export function endpointText({ host, port, scheme }: Endpoint): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function wrong(said: string, problem: string): Failure {
  return misuse(`${said} cannot be used: ${problem}.`)
}
