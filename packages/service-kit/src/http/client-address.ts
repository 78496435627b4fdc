import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the client address (reliability 4): the peer, or with `hops` trusted proxies the entry that the outermost
 * proxy wrote. Entries further left come from the caller and prove nothing. For a missing or invalid entry it returns
 * the peer: then callers share one limit instead of choosing their own.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, hops: number): string {
  if (hops < 1 && isBare(peer)) return peer
  const entry = forwardedEntry(forwardedFor, hops)
  return (entry === undefined ? undefined : readAddress(entry)) ?? readAddress(withoutZone(peer)) ?? peer
}

/** Returns the `hops`-th entry from the right of a comma-separated list, such as X-Forwarded-For. */
export function forwardedEntry(list: string | undefined, hops: number): string | undefined {
  if (list === undefined || hops < 1) return undefined
  let end = list.length
  for (let skipped = 1; skipped < hops; skipped += 1) {
    end = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
    if (end === -1) return undefined
  }
  const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
  return list.slice(comma + 1, end).trim()
}

/**
 * Returns the key of an address for limits: the address, or for IPv6 its /64. One customer usually has a whole /64, and
 * would otherwise have that many limits.
 */
export function limitAddress(address: string): string {
  if (isBare(address)) return address
  const plain = readAddress(withoutZone(address))
  if (plain === undefined || isIPv4(plain)) return plain ?? address
  return `${writeGroups([...readGroups(plain).slice(0, 4), 0, 0, 0, 0])}/64`
}

/** IPv4 or no address: used as written. */
function isBare(address: string): boolean {
  return !address.includes(':') && !address.includes('%')
}

/**
 * Returns the normal form of an address (RFC 5952), IPv4-mapped forms as IPv4; undefined when the text is not an
 * address.
 */
function readAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  // A zone names an interface of the sender's machine, so it has no meaning here.
  if (!isIPv6(text) || text.includes('%')) return undefined
  const groups = readGroups(text)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return writeGroups(groups)
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

function withoutZone(address: string): string {
  const zone = address.indexOf('%')
  return zone === -1 ? address : address.slice(0, zone)
}

/** Returns the eight groups of a valid IPv6 address. */
function readGroups(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const left = readSide(head)
  if (tail === undefined) return left
  const right = readSide(tail)
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function readSide(side: string): number[] {
  if (side === '') return []
  return side.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number(`0x${part}`)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

/** Lower case, no leading zeros, the first longest run of at least two zero groups as `::`. */
function writeGroups(groups: readonly number[]): string {
  let bestStart = 0
  let bestLength = 1
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1
    else if (index + 1 - start > bestLength) {
      bestStart = start
      bestLength = index + 1 - start
    }
  }
  const hex = groups.map((group) => group.toString(16))
  if (bestLength < 2) return hex.join(':')
  return `${hex.slice(0, bestStart).join(':')}::${hex.slice(bestStart + bestLength).join(':')}`
}
