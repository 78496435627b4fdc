import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { FairQueue } from '../async/fair-queue.ts'
import type { QueueSlot } from '../async/fair-queue.ts'
import { Line } from './connection-queue.ts'
import type { OnData, Serve } from './connection-queue.ts'

/** One connection at a time, and a tenth of the time at most for the connections of one address. */
const QUEUE_LIMITS = { atOnce: 1, shortMs: 0, restFactor: 9, restMaxMs: 20 }
/** Who does not wait for answers can also close and open connections without waiting: each is to take a while. */
const PACED_QUEUE_LIMITS = { ...QUEUE_LIMITS, restMinMs: 5 }
/** Connections of one address on which requests wait: each holds what was read of them. */
const PER_ADDRESS = 64
/** How long a closed one still counts: else closing and opening them would be the quicker way. */
const CACHED_MS = 1000

/** On the socket itself: every request looks for it. */
const LINE: unique symbol = Symbol('line')
type Carrier = Socket & { [LINE]?: Line }

/**
 * Requests sent without waiting for answers. The platform parses and hands over in one turn of the event loop whatever
 * was read: thousands of requests of each connection, and all other callers wait. Here the parser of a connection gets no
 * more than a small piece beyond the request that is at work, and the rest stays with its sender. Connections on which
 * requests wait take turns by address (IPv6: /64), with rests in between. No usual client or proxy sends so.
 */
export class Pipelined {
  readonly #serve: Serve
  readonly #turns = new FairQueue(QUEUE_LIMITS)
  readonly #pacedTurns = new FairQueue(PACED_QUEUE_LIMITS)
  readonly #byAddress = new Map<string, number>()

  constructor(serve: Serve) {
    this.#serve = serve
  }

  /** Takes the data of a new connection before its parser, which must be attached already. */
  watch(socket: Carrier): void {
    const [onData] = socket.listeners('data') as OnData[]
    if (onData === undefined || socket.destroyed) return
    const line = new Line(socket, onData, this)
    socket[LINE] = line
    socket.off('data', onData)
    socket.on('data', (bytes: Buffer) => line.receive(bytes))
    socket.on('resume', () => line.stayPaused())
    socket.on('drain', () => line.wake())
  }

  /** A request the parser has found. */
  take(request: IncomingMessage, response: ServerResponse, serve: Serve = this.#serve): void {
    const line = (request.socket as Carrier)[LINE]
    if (line === undefined) serve(request, response)
    else line.take({ request, response, serve })
  }

  /** The connection is none of HTTP any more (CONNECT). */
  release(socket: Carrier): void {
    socket[LINE]?.release()
  }

  turnFor(address: string, isPaced: boolean): QueueSlot {
    return (isPaced ? this.#pacedTurns : this.#turns).take(address)
  }

  /** False when the address has as many connections on which requests wait as it may have. */
  admit(socket: Socket, address: string): boolean {
    const held = this.#byAddress.get(address) ?? 0
    if (held >= PER_ADDRESS) return false
    this.#byAddress.set(address, held + 1)
    socket.once('close', () => setTimeout(() => this.#forget(address), CACHED_MS).unref())
    return true
  }

  isPipelining(address: string): boolean {
    return this.#byAddress.has(address)
  }

  #forget(address: string): void {
    const left = (this.#byAddress.get(address) ?? 1) - 1
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }
}
