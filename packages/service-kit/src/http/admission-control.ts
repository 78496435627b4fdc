import type { Server as HttpServer } from 'node:http'
import { Server } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Shares } from './address-shares.ts'
import { Connections } from './connections.ts'
import type { ConnectionLimits } from './connections.ts'

const GRACE_MS = 300
const STEP_MS = 50

export interface AdmissionLimits extends ConnectionLimits {
  /** Handlers at work at once. */
  readonly inFlight: number
}

/** What one process takes on: places for handlers and connections, shared by address; awaited while draining. */
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

  /** Every answer says `Connection: close`. */
  get draining(): boolean {
    return this.#draining
  }

  /** Closes open connections, each with its next response, while new ones are still accepted. */
  stopKeeping(): void {
    this.#draining = true
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Handlers at work, those of health routes apart. */
  get inFlight(): number {
    return this.#places.taken
  }

  /**
   * False when the process is full, or this address holds its share of it. Health routes are not counted: an
   * overloaded instance must report its state.
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
   * Counts a request on its connection and gives the count. Answers under way are awaited when draining, but hold no
   * place: a slow reader must not keep others out.
   */
  beginResponse(socket: Socket): number {
    this.#answers += 1
    return this.#connections.begin(socket)
  }

  /** The answer is written; what the caller has not taken yet waits in its connection. */
  endResponse(socket: Socket): void {
    this.#answers -= 1
    this.#connections.end(socket)
  }

  /** Closes a connection beyond what one address may hold. */
  admit(socket: Socket): void {
    this.#connections.admit(socket)
  }

  /** Requests come over `secure`, which was made of the admitted connection `below`. */
  secure(secure: Socket, below: Socket): void {
    this.#connections.secure(secure, below)
  }

  /**
   * Stops listening without cutting open connections: a caller may be sending on one right now. Every response has
   * `Connection: close` from here on; connections that stay silent for the grace time are closed.
   */
  async drain(server: HttpServer): Promise<void> {
    this.stopKeeping()
    // net's close, not http's: the latter also closes idle connections at once, and with them requests on their way.
    Server.prototype.close.call(server)
    await pause(GRACE_MS)
    while (this.#places.taken + this.#exempt + this.#answers > 0 || this.#connections.hasUnsent) await pause(STEP_MS)
    server.closeIdleConnections()
    await pause(STEP_MS)
    server.closeAllConnections()
  }
}
