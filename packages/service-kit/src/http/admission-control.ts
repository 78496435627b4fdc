import type { Server as HttpServer } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Shares } from './address-shares.ts'
import { type ConnectionLimits, Connections } from './connections.ts'

const GRACE_MS = 300
const STEP_MS = 50

export interface AdmissionLimits extends ConnectionLimits {
  /** Handlers that may run at the same time. */
  readonly inFlight: number
}

/** Limits what one process accepts: slots for handlers and connections, shared by address. Draining waits for them. */
export class AdmissionControl {
  readonly #places: Shares
  readonly #connections: Connections
  #exempt = 0
  #answers = 0
  #draining = false

  constructor(limits: AdmissionLimits) {
    this.#places = new Shares(limits.inFlight, 1)
    this.#connections = new Connections(limits)
  }

  /** True when every response has `Connection: close`. */
  get draining(): boolean {
    return this.#draining
  }

  /** Closes open connections, each with its next response, while new ones are still accepted. */
  stopKeepAlive(): void {
    this.#draining = true
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Number of running handlers, without those of health routes. */
  get inFlight(): number {
    return this.#places.taken
  }

  /**
   * Returns false when the process is full, or this address has its share. Health routes are not counted: an overloaded
   * instance must report its state.
   */
  enter(exempt: boolean, address: string): boolean {
    if (!exempt) return this.#places.take(address)
    this.#exempt += 1
    return true
  }

  leave(exempt: boolean, address: string): void {
    if (exempt) this.#exempt -= 1
    else this.#places.give(address)
  }

  /**
   * Counts a request on its connection and returns the count. Draining waits for open responses, but they use no slot:
   * a slow reader must not block others.
   */
  beginResponse(socket: Socket): number {
    this.#answers += 1
    return this.#connections.begin(socket)
  }

  /** Call when the response is written. Unread bytes stay in the connection. */
  endResponse(socket: Socket): void {
    this.#answers -= 1
    this.#connections.end(socket)
  }

  /** Closes a connection over the limit of its address. */
  admit(socket: Socket): void {
    this.#connections.admit(socket)
  }

  /** Requests arrive over `secure`, the TLS layer of the admitted connection `below`. */
  secure(secure: Socket, below: Socket): void {
    this.#connections.secure(secure, below)
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
    while (this.#places.taken + this.#exempt + this.#answers > 0 || this.#connections.hasUnsent) await pause(STEP_MS)
    server.closeIdleConnections()
    await pause(STEP_MS)
    server.closeAllConnections()
  }
}
