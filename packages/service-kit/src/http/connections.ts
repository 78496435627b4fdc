import type { Server as HttpServer } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { limitAddress } from './call.ts'

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

/** How long a connection that sends nothing stays open when the process stops. */
const GRACE_MS = 300
const STEP_MS = 50

/**
 * The open connections of one listener, by the address they come from, and their open responses. A stopping process
 * waits for them; they use no slot, because a slow reader must not block others.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  /** In the order of opening. */
  readonly #open = new Map<Socket, Connection>()
  readonly #byAddress = new Map<string, number>()
  #answers = 0
  #isDraining = false

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  /** True when every response has `Connection: close`. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Closes open connections, each with its next response, while new ones are still accepted. */
  stopKeepAlive(): void {
    this.#isDraining = true
  }

  /**
   * Stops listening without closing open connections, because a caller may be sending. Every response now has
   * `Connection: close`. Connections that send nothing for the grace time are closed.
   */
  async drain(server: HttpServer): Promise<void> {
    this.stopKeepAlive()
    // Uses close of net, not of http: http also closes idle connections, and with them requests in transit.
    Server.prototype.close.call(server)
    await pause(GRACE_MS)
    while (this.#answers > 0 || this.hasUnsent) await pause(STEP_MS)
    server.closeIdleConnections()
    await pause(STEP_MS)
    server.closeAllConnections()
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
    this.#answers += 1
    const connection = socket[CONNECTION]
    if (connection === undefined) return 1
    connection.busy += 1
    connection.requests += 1
    return connection.requests
  }

  /** Call when the response is written. Unread bytes stay in the connection. */
  end(socket: Carrier): void {
    this.#answers -= 1
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
