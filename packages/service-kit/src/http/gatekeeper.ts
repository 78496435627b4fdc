import type { Server as HttpServer } from 'node:http'
import { Server } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const GRACE_MS = 300
const STEP_MS = 50

/** A listening server and what else ends with it. */
export interface Drainable {
  readonly server: Pick<HttpServer, 'closeIdleConnections' | 'closeAllConnections'>
  close(): Promise<unknown>
}

export interface GateLimits {
  /** Handlers at work at once. */
  readonly inFlight: number
  /** Bytes of bodies being read, over all requests. */
  readonly bodyBytes: number
  /** Connections of one address; 0 when a proxy stands in front and all come from it. */
  readonly connectionsPerAddress: number
}

/** What one process takes on: places for handlers, room for bodies, connections per address; awaited while draining. */
export class Gatekeeper {
  readonly #limits: GateLimits
  readonly #connections = new Map<string, number>()
  readonly #open = new Set<Socket>()
  /** Requests a connection has carried. Node's own limit would answer the next one outside the envelope. */
  readonly #requests = new WeakMap<Socket, number>()
  #inFlight = 0
  #exempt = 0
  #answers = 0
  #bodyBytes = 0
  #draining = false

  constructor(limits: GateLimits) {
    this.#limits = limits
  }

  get draining(): boolean {
    return this.#draining
  }

  /** False when the process is full. Health routes have places of their own: an overloaded instance must say how it is. */
  enter(exempt: boolean): boolean {
    if (exempt) this.#exempt += 1
    else if (this.#inFlight >= this.#limits.inFlight) return false
    else this.#inFlight += 1
    return true
  }

  leave(exempt: boolean): void {
    if (exempt) this.#exempt -= 1
    else this.#inFlight -= 1
  }

  /**
   * Counts a request on its connection and gives the count. Answers under way are awaited when draining, but hold no
   * place: a slow reader must not keep others out.
   */
  openAnswer(socket: Socket): number {
    this.#answers += 1
    const count = (this.#requests.get(socket) ?? 0) + 1
    this.#requests.set(socket, count)
    return count
  }

  /** The answer is written; what the caller has not taken yet waits in its connection. */
  closeAnswer(): void {
    this.#answers -= 1
  }

  /** False when the bodies being read are already as large, together, as this process allows. */
  takeBytes(count: number): boolean {
    if (this.#bodyBytes + count > this.#limits.bodyBytes) return false
    this.#bodyBytes += count
    return true
  }

  giveBytes(count: number): void {
    this.#bodyBytes -= count
  }

  /** Closes a connection beyond what one address may hold. */
  admit(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    const { connectionsPerAddress } = this.#limits
    const address = socket.remoteAddress ?? ''
    if (connectionsPerAddress === 0 || address === '') return
    const held = (this.#connections.get(address) ?? 0) + 1
    this.#connections.set(address, held)
    socket.once('close', () => {
      const left = (this.#connections.get(address) ?? 1) - 1
      if (left === 0) this.#connections.delete(address)
      else this.#connections.set(address, left)
    })
    if (held > connectionsPerAddress) socket.destroy()
  }

  /**
   * Stops listening without cutting kept connections: a caller may be sending on one right now. Every answer says
   * `Connection: close` from here on; connections that stay silent for the grace time are closed.
   */
  async drain(app: Drainable): Promise<void> {
    this.#draining = true
    // net's close, not http's: the latter also closes idle connections at once, and with them requests on their way.
    Server.prototype.close.call(app.server)
    await pause(GRACE_MS)
    while (this.#inFlight + this.#exempt + this.#answers > 0 || this.#hasUnread()) await pause(STEP_MS)
    app.server.closeIdleConnections()
    await pause(STEP_MS)
    app.server.closeAllConnections()
    await app.close()
  }

  /** True while a written answer has not left this process. */
  #hasUnread(): boolean {
    for (const socket of this.#open) if (socket.writableLength > 0) return true
    return false
  }
}
