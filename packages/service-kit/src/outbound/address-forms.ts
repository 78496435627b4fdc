import { isIP } from 'node:net'

/** Returns the 4 or 16 bytes of an address in any notation, or undefined. */
export function addressBytes(text: string): readonly number[] | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  const kind = isIP(bare)
  if (kind === 4) return bare.split('.').map(Number)
  return kind === 6 ? ipv6Bytes(bare) : undefined
}

/** Expects a valid address. */
function ipv6Bytes(text: string): readonly number[] {
  const [head = '', tail] = text.split('::')
  const start = groupBytes(head)
  const end = groupBytes(tail ?? '')
  return [...start, ...Array.from({ length: 16 - start.length - end.length }, () => 0), ...end]
}

function groupBytes(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

/** IPv6 prefixes that contain an IPv4 address, and the offset of its four bytes. */
const CARRIERS: readonly { readonly prefix: readonly number[]; readonly at: number; readonly isInverted?: true }[] = [
  // Mapped, translated, compatible.
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], at: 12 },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], at: 12 },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  // NAT64, well-known and local. Of the other local forms address-rules.ts calls none.
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 1, 0, 0, 0, 0, 0, 0], at: 12 },
  // 6to4 and Teredo.
  { prefix: [0x20, 0x02], at: 2 },
  { prefix: [0x20, 0x01, 0, 0], at: 12, isInverted: true },
]

/** Returns an address and the IPv4 addresses it contains: a connection to one of them ends at the other. */
export function addressForms(text: string): readonly string[] {
  const bytes = addressBytes(text)
  if (bytes === undefined) return []
  if (bytes.length === 4) return [bytes.join('.')]
  const own = writeIpv6(bytes)
  // Loopback has the form of the compatible address 0.0.0.1, but is not one.
  if (own === writeIpv6([...Array.from({ length: 15 }, () => 0), 1])) return [own]
  const carried = CARRIERS.filter(({ prefix }) => prefix.every((byte, index) => bytes[index] === byte)).map(
    ({ at, isInverted }) =>
      bytes
        .slice(at, at + 4)
        .map((byte) => (isInverted === true ? byte ^ 255 : byte))
        .join('.'),
  )
  return [own, ...carried]
}

function writeIpv6(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0))
  return groups.map((group) => group.toString(16)).join(':')
}
