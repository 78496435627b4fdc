import { GatewayRefusal } from '@chancery/contract'
import { Shares } from '@chancery/service-kit'

export interface SlotLimits {
  /** Maximum number of running requests. */
  readonly requests: number
  /** Maximum number of requests whose bodies are being read. */
  readonly bodies: number
  /** Maximum number of bytes of these bodies. */
  readonly bodyBytes: number
}

/**
 * Limits the work of one process (protocol/gateway 5.1 step 4). A running request uses a slot; an arriving body does
 * not, so a caller that withholds its bodies delays no other caller. Each caller has a share of every limit.
 */
export class RequestSlots {
  readonly #requests: Shares
  readonly #bodies: Shares
  readonly #bytes: Shares

  constructor({ requests, bodies, bodyBytes }: SlotLimits) {
    this.#requests = new Shares(requests, 2)
    this.#bodies = new Shares(bodies, 2)
    this.#bytes = new Shares(bodyBytes, 2)
  }

  /** Returns the slots of a client of the policy. */
  ofClient(clientId: string): CallerSlots {
    return new CallerSlots(`client ${clientId}`, this.#requests, this.#bodies, this.#bytes)
  }

  /**
   * Refuses while the process is full. Public requests use no slot: they get a cached document, or wait for one shared
   * refresh.
   */
  checkFreeSpace(): void {
    if (!this.#requests.hasRoom) throw new GatewayRefusal('overloaded')
  }
}

/** The slot of one request of a caller, and the budget of its body. */
export class CallerSlots {
  readonly #holder: string
  readonly #requests: Shares
  readonly #bodies: Shares
  readonly #bytes: Shares
  #isEntered = false

  constructor(holder: string, requests: Shares, bodies: Shares, bytes: Shares) {
    this.#holder = holder
    this.#requests = requests
    this.#bodies = bodies
    this.#bytes = bytes
  }

  /** Takes a slot. Refuses when the process is full or this caller has its share. */
  enter(): void {
    if (this.#isEntered) return
    if (!this.#requests.take(this.#holder)) throw new GatewayRefusal('overloaded')
    this.#isEntered = true
  }

  /** Releases the slot, if it was taken. */
  leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#requests.give(this.#holder)
  }

  openBody(): void {
    if (!this.#bodies.take(this.#holder)) throw new GatewayRefusal('overloaded')
  }

  closeBody(): void {
    this.#bodies.give(this.#holder)
  }

  reserveBytes(count: number): boolean {
    return this.#bytes.take(this.#holder, count)
  }

  releaseBytes(count: number): void {
    if (count > 0) this.#bytes.give(this.#holder, count)
  }
}
