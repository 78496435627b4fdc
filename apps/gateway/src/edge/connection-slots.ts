import { GatewayRefusal } from '@chancery/contract'
import { Shares } from '@chancery/service-kit'

export interface SlotLimits {
  /** Requests at work at once. */
  readonly requests: number
  /** Requests whose bodies are being read. */
  readonly bodies: number
  /** Bytes of these bodies. */
  readonly bodyBytes: number
}

/**
 * What one process takes on at once (protocol/gateway 5.1 step 4). A place is held by work, never by a body that is on
 * its way: a caller that withholds its bodies delays no other caller. Each caller has a share of everything.
 */
export class Places {
  readonly #requests: Shares
  readonly #bodies: Shares
  readonly #bytes: Shares

  constructor({ requests, bodies, bodyBytes }: SlotLimits) {
    this.#requests = new Shares(requests, 2)
    this.#bodies = new Shares(bodies, 2)
    this.#bytes = new Shares(bodyBytes, 2)
  }

  /** For a caller of the policy. */
  ofClient(clientId: string): CallerPlaces {
    return new CallerPlaces(`client ${clientId}`, this.#requests, this.#bodies, this.#bytes)
  }

  /**
   * Callers without a credential hold no place: they get what is there at once, or wait for what one refresh brings all
   * of them. They are refused only while the process is full.
   */
  checkFreeSpace(): void {
    if (!this.#requests.hasRoom) throw new GatewayRefusal('overloaded')
  }
}

/** The share of one caller, for one request; also the room its body is read into. */
export class CallerPlaces {
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

  /** The work begins; refuses when the process is full or this caller has its share. */
  enter(): void {
    if (this.#isEntered) return
    if (!this.#requests.take(this.#holder)) throw new GatewayRefusal('overloaded')
    this.#isEntered = true
  }

  /** The work has ended, if it ever began. */
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
