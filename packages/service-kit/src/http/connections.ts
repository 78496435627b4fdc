import type { Socket } from 'node:net'
import { limitAddress } from './client-address.ts'

export interface ConnectionLimits {
  /** Maximum open connections. Without it the listener's own limit applies. */
  readonly connections?: number
  /** Limit of one address; an IPv6 /64 counts as one. 0 behind a proxy, because all connections come from it. */
  readonly connectionsPerAddress: number
}

interface Connection {
  readonly address: string
  /** Where responses are written. With TLS this differs from the admitted connection. */
  carrier: Socket
  /** Number of requests so far. Node's own limit would respond to the next one outside the envelope. */
  requests: number
  /** Requests without a complete response. */
  busy: number
}

/** Stored on the socket, because every request looks it up. */
const CONNECTION: unique symbol = Symbol('connection')
type Carrier = Socket & { [CONNECTION]?: Connection }

/** The open connections of one listener, by the address they come from. */
export class Connections {
  readonly #limits: ConnectionLimits
  /** In the order of opening. */
  readonly #open = new Map<Socket, Connection>()
  readonly #byAddress = new Map<string, number>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  /** Returns true while a written response has not left this process. */
  get hasUnsent(): boolean {
    for (const { carrier } of this.#open.values()) if (carrier.writableLength > 0) return true
    return false
  }

  /**
   * Closes a connection over the limit of its address. When all slots are used, the address with the most connections
   * loses one to an address with fewer.
   */
  admit(socket: Carrier): void {
    const { connections = Number.POSITIVE_INFINITY, connectionsPerAddress } = this.#limits
    const address = connectionsPerAddress === 0 ? '' : limitAddress(socket.remoteAddress ?? '')
    const held = this.#count(address)
    const isBeyond = address !== '' && held >= connectionsPerAddress
    if (isBeyond || (this.#open.size >= connections && !this.#makeRoom(held))) {
      socket.destroy()
      return
    }
    const connection = { address, carrier: socket, requests: 0, busy: 0 }
    socket[CONNECTION] = connection
    this.#open.set(socket, connection)
    this.#byAddress.set(address, held + 1)
    socket.once('close', () => this.#forget(socket))
  }

  /** Requests arrive over `secure`, the TLS layer of the admitted connection `below`. */
  secure(secure: Carrier, below: Carrier): void {
    const connection = below[CONNECTION]
    if (connection === undefined) return
    connection.carrier = secure
    secure[CONNECTION] = connection
  }

  /** Counts a new request on this connection and returns the number so far. */
  begin(socket: Carrier): number {
    const connection = socket[CONNECTION]
    if (connection === undefined) return 1
    connection.busy += 1
    connection.requests += 1
    return connection.requests
  }

  /** Call when the response is written. */
  end(socket: Carrier): void {
    const connection = socket[CONNECTION]
    if (connection !== undefined) connection.busy -= 1
  }

  #count(address: string): number {
    return this.#byAddress.get(address) ?? 0
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    this.#open.delete(socket)
    const left = this.#count(connection.address) - 1
    if (left === 0) this.#byAddress.delete(connection.address)
    else this.#byAddress.set(connection.address, left)
  }

  /** Selects the oldest connection without a request, or else the oldest of all. */
  #makeRoom(held: number): boolean {
    let most = ''
    for (const [address, count] of this.#byAddress) if (count > this.#count(most)) most = address
    if (this.#count(most) <= held + 1) return false
    let oldest: Socket | undefined
    for (const [socket, { address, busy }] of this.#open) {
      if (address !== most) continue
      oldest ??= socket
      if (busy > 0) continue
      oldest = socket
      break
    }
    if (oldest === undefined) return false
    this.#forget(oldest)
    oldest.destroy()
    return true
  }
}
