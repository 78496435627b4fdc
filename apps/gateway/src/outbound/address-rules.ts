import { lookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'

type Kind = 'ipv4' | 'ipv6'

/** Never called, whatever the policy says: unspecified, link-local (cloud metadata), multicast, reserved. */
const NEVER = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
])

/** Called only when the operator wrote the address itself or allowed plain http for the network. */
const PRIVATE = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['::1', 128, 'ipv6'],
])

function blockList(subnets: readonly (readonly [string, number, Kind])[]): BlockList {
  const list = new BlockList()
  for (const [net, bits, kind] of subnets) list.addSubnet(net, bits, kind)
  return list
}

/** Whether a connection may go to this address; mapped and translated IPv4 forms count as IPv4. */
export function isCallable(address: string, allowPrivate: boolean): boolean {
  const plain = unfold(address)
  const kind = isIP(plain)
  if (kind === 0) return false
  const family = kind === 4 ? 'ipv4' : 'ipv6'
  return !NEVER.check(plain, family) && (allowPrivate || !PRIVATE.check(plain, family))
}

function unfold(address: string): string {
  const bare = address.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 6) return bare
  // The URL parser writes mapped addresses in hex groups.
  const match = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):([0-9a-f]{1,4})|(\d+\.\d+\.\d+\.\d+))$/i.exec(bare)
  if (match === null) return bare
  if (match[3] !== undefined) return match[3]
  const [high, low] = [Number.parseInt(match[1] ?? '0', 16), Number.parseInt(match[2] ?? '0', 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** Resolves once, compares, and connects to the address that was compared: a second answer of a name server is not asked for. */
export function guardedLookup(allowPrivate: boolean): LookupFunction {
  return (hostname, options, done) => {
    lookup(
      hostname,
      { all: true, family: options.family === 4 || options.family === 6 ? options.family : 0 },
      (error, found) => {
        const addresses = (found ?? []).filter(({ address }) => isCallable(address, allowPrivate))
        const [first] = addresses
        if (error !== null || first === undefined) {
          done(error ?? Object.assign(new Error('no address that may be called'), { code: 'EADDRNOTALLOWED' }), '', 4)
        } else if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      },
    )
  }
}
