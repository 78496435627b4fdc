import { lookup } from 'node:dns'
import { BlockList, type LookupFunction, isIP } from 'node:net'
import { addressForms } from './address-forms.ts'

type Kind = 'ipv4' | 'ipv6'

/** Error code when a name resolves to no allowed address. */
export const NOT_ALLOWED = 'EADDRNOTALLOWED'

/** Never called, also when the operator names them: unspecified, link-local (cloud metadata), multicast, reserved. */
const NEVER = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  // Other addresses of cloud metadata services, which have the credentials of the machine.
  ['100.100.100.200', 32, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
])
// Special uses, Teredo apart: it contains an IPv4 address, which decides.
NEVER.addRange('2001:1::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', 'ipv6')
// Local NAT64: the place of the IPv4 address depends on the network, except in the form with zeros before it.
NEVER.addRange('64:ff9b:1::1:0:0', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', 'ipv6')

/** Private networks, and special blocks without public hosts. */
const PRIVATE = blockList([
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
])

const LOOPBACK = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
])

/** The only block of IPv6 with public hosts. */
const GLOBAL = blockList([['2000::', 3, 'ipv6']])

/** Documentation and discard blocks, without hosts. */
const UNUSED = blockList([
  ['192.0.2.0', 24, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['2001:db8::', 32, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
  ['100::', 64, 'ipv6'],
])

/** `never`: unspecified, link-local, metadata, multicast, reserved. `unused`: no host has it. */
export type AddressKind = 'never' | 'unused' | 'loopback' | 'private' | 'public'

const NARROWEST: readonly (readonly [AddressKind, BlockList])[] = [
  ['never', NEVER],
  ['unused', UNUSED],
  ['loopback', LOOPBACK],
  ['private', PRIVATE],
]

/** The kind of an address, of every address it contains: the first of the list counts. Undefined for another text. */
export function addressKind(address: string): AddressKind | undefined {
  const forms = addressForms(address)
  if (forms.length === 0) return undefined
  const narrowest = NARROWEST.find(([, list]) => forms.some((form) => isIn(list, form)))?.[0]
  if (narrowest !== undefined) return narrowest
  // The last form is the address itself, or the IPv4 address that a connection to it ends at.
  const last = forms.at(-1) ?? ''
  return isIP(last) === 4 || isIn(GLOBAL, last) ? 'public' : 'never'
}

function blockList(subnets: readonly (readonly [string, number, Kind])[]): BlockList {
  const list = new BlockList()
  for (const [net, bits, kind] of subnets) list.addSubnet(net, bits, kind)
  return list
}

/** Returns whether a connection to this address is allowed. Checks every address it contains. */
export function isCallable(address: string, allowPrivate: boolean): boolean {
  const kind = addressKind(address)
  if (kind === undefined || kind === 'never') return false
  return allowPrivate || kind === 'public' || kind === 'unused'
}

function isIn(list: BlockList, form: string): boolean {
  return list.check(form, isIP(form) === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Returns whether a URL contains a literal address that is never called. A literal is not looked up, so no lookup can
 * refuse it.
 */
export function isRefusedLiteral({ hostname }: URL): boolean {
  return addressForms(hostname).length > 0 && !isCallable(hostname, true)
}

/**
 * Resolves a name once, checks the addresses, and connects to a checked address. A second lookup could return another
 * address. `everyAddress`: a name with one address that is not allowed is refused; otherwise that address is left out.
 */
export function guardedLookup(
  isAllowed: (address: string) => boolean,
  resolve: typeof lookup = lookup,
  { everyAddress = false }: { readonly everyAddress?: boolean } = {},
): LookupFunction {
  return (hostname, options, done) => {
    resolve(
      hostname,
      { all: true, family: options.family === 4 || options.family === 6 ? options.family : 0 },
      (error, found) => {
        // After an error there are none.
        const all = found ?? []
        const allowed = all.filter(({ address }) => isAllowed(address))
        const addresses = everyAddress && allowed.length < all.length ? [] : allowed
        const [first] = addresses
        if (error !== null || first === undefined) {
          done(error ?? Object.assign(new Error('no allowed address'), { code: NOT_ALLOWED }), '', 4)
        } else if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      },
    )
  }
}
