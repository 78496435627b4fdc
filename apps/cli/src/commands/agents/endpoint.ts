import type { AgentDescriptor } from '@chancery/protocol'
import { type CommandError, usageError } from '../../errors/failure.ts'

export type Endpoint = AgentDescriptor['endpoint']

const PORTS: Readonly<Record<string, number>> = { http: 80, ws: 80, https: 443, wss: 443 }

export interface Address {
  readonly endpoint: Endpoint
  /** Path and query, when there is more than the root. */
  readonly path: string | undefined
  /** Scheme, host and port as a URL has them. */
  readonly origin: string
}

/** Splits a URL into its parts. The scheme is not changed: http does not become ws. */
export function readAddress(text: string, source: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '') throw wrong(source, 'it is not a URL such as wss://host:7448')
  const scheme = url.protocol.slice(0, -1)
  if (!/^[a-z][a-z0-9+.-]{0,15}$/.test(scheme)) throw wrong(source, 'its scheme is longer than 16 characters')
  // A registration is public, so a password in it would be exposed.
  if (url.username !== '' || url.password !== '') throw wrong(source, 'it contains a user name or password')
  const port = url.port === '' ? PORTS[scheme] : Number(url.port)
  if (port === undefined || port < 1) throw wrong(source, `the default port of ${scheme} is unknown: add a port`)
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

function wrong(source: string, problem: string): CommandError {
  return usageError(`${source} cannot be used: ${problem}.`)
}
