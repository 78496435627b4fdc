import { type Socket, isIPv4, isIPv6 } from 'node:net'

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

/** Concurrent TLS handshakes of one address. Further ones wait. */
const PER_ADDRESS = 8
/** Time limit of a handshake, and of the wait before it. */
export const HANDSHAKE_MS = 10_000

interface AddressHandshakes {
  active: number
  readonly waiting: (() => void)[]
}

/**
 * Handshakes are the most expensive work an unauthenticated caller can cause. An address (IPv6: /64) may run a few at a
 * time, so that many or unfinished handshakes delay only their own address.
 */
export class Handshakes {
  readonly #byAddress = new Map<string, AddressHandshakes>()
  /** By both addresses and ports of the connection: Node does not expose the connection below a TLS socket. */
  readonly #open = new Map<string, { readonly socket: Socket; readonly end: () => void }>()

  /** Starts the handshake now, or when the earlier ones of its address are done. */
  begin(socket: Socket, start: () => void): void {
    const [address, ends] = [limitAddress(socket.remoteAddress ?? ''), endsOf(socket)]
    const own = this.#byAddress.get(address) ?? { active: 0, waiting: [] }
    this.#byAddress.set(address, own)
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      this.#open.delete(ends)
      this.#end(address, own)
    }
    const run = (): void => {
      own.active += 1
      if (socket.destroyed) return end()
      socket.off('close', leave).setTimeout(0)
      socket.once('close', end)
      this.#open.set(ends, { socket, end })
      start()
    }
    const leave = (): void => {
      const at = own.waiting.indexOf(run)
      // It may have started between its close and the close event.
      if (at !== -1) own.waiting.splice(at, 1)
    }
    if (own.active < PER_ADDRESS) return run()
    own.waiting.push(run)
    // No other error listener exists yet, and a reset would end the process.
    socket.on('error', () => socket.destroy())
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy())
    socket.once('close', leave)
  }

  /** Ends the handshake and returns the connection below. */
  finish(secure: Socket): Socket | undefined {
    const found = this.#open.get(endsOf(secure))
    found?.end()
    return found?.socket
  }

  #end(address: string, own: AddressHandshakes): void {
    own.active -= 1
    own.waiting.shift()?.()
    if (own.active === 0) this.#byAddress.delete(address)
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
