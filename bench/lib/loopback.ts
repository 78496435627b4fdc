import { isIPv4 } from 'node:net'

/** Load on a machine of another owner would be an attack. */
export function requireLoopback(host: string): void {
  const isLoopback = host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  if (!isLoopback) throw new Error(`the load generator only talks to loopback addresses, not to ${host}`)
}
