import { Server } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

const GRACE_MS = 300
const STEP_MS = 50

/** Counts requests in flight: bounded while running, awaited while draining. */
export class Gatekeeper {
  readonly #maxInFlight: number
  #inFlight = 0
  #draining = false

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight
  }

  get draining(): boolean {
    return this.#draining
  }

  /** False when the process is full. Health routes are exempt: an overloaded instance must still say how it is. */
  enter(exempt: boolean): boolean {
    if (!exempt && this.#inFlight >= this.#maxInFlight) return false
    this.#inFlight += 1
    return true
  }

  leave(): void {
    this.#inFlight -= 1
  }

  /**
   * Stops listening without cutting kept connections: a caller may be sending on one right now. Every answer says
   * `Connection: close` from here on; connections that stay silent for the grace time are closed.
   */
  async drain(app: FastifyInstance): Promise<void> {
    this.#draining = true
    // net's close, not http's: the latter also closes idle connections at once, and with them requests on their way.
    Server.prototype.close.call(app.server)
    await pause(GRACE_MS)
    while (this.#inFlight > 0) await pause(STEP_MS)
    app.server.closeIdleConnections()
    await pause(STEP_MS)
    app.server.closeAllConnections()
    await app.close()
  }
}
