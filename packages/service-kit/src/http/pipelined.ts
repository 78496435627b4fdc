import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { FairQueue, type QueueSlot } from '../async/fair-queue.ts'
import { type OnData, PipelinedConnection, type Serve } from './connection-queue.ts'

/** One connection at a time, and at most a tenth of the time for the connections of one address. */
const QUEUE_LIMITS = { atOnce: 1, shortMs: 0, restFactor: 9, restMaxMs: 20 }
/** Minimum pause for a caller that opens new connections instead of pipelining on one. */
const PACED_QUEUE_LIMITS = { ...QUEUE_LIMITS, restMinMs: 5 }
/** Pipelined connections of one address. Each one keeps unparsed data in memory. */
const PER_ADDRESS = 64
/** How long a closed connection still counts, so that reopening connections brings no advantage. */
const CLOSED_COUNTS_MS = 1000

/** Stored on the socket, because every request looks it up. */
const CONNECTION: unique symbol = Symbol('connection')
type Carrier = Socket & { [CONNECTION]?: PipelinedConnection }

/**
 * Limits HTTP pipelining: requests sent without waiting for responses. Node parses all received bytes in one event loop
 * turn, possibly thousands of requests per connection, while other callers wait. This class passes the parser only a
 * small piece beyond the active request; the rest stays with the sender. Pipelined connections share slots by address
 * (IPv6: /64), with pauses. Usual clients and proxies do not pipeline.
 */
export class Pipelined {
  readonly #serve: Serve
  readonly #queue = new FairQueue(QUEUE_LIMITS)
  readonly #pacedQueue = new FairQueue(PACED_QUEUE_LIMITS)
  readonly #byAddress = new Map<string, number>()

  constructor(serve: Serve) {
    this.#serve = serve
  }

  /** Takes every request of a server. */
  serve(server: Server): void {
    server.on('request', (request, response) => this.take(request, response))
  }

  /** Intercepts the data of a new connection before its parser, which must be attached already. */
  watch(socket: Carrier): void {
    const [onData] = socket.listeners('data') as OnData[]
    if (onData === undefined || socket.destroyed) return
    const connection = new PipelinedConnection(socket, onData, this)
    socket[CONNECTION] = connection
    socket.off('data', onData)
    socket.on('data', (bytes: Buffer) => connection.receive(bytes))
    socket.on('resume', () => connection.stayPaused())
    socket.on('drain', () => connection.wake())
  }

  /** Serves or queues a request that the parser has found. */
  take(request: IncomingMessage, response: ServerResponse, serve: Serve = this.#serve): void {
    const connection = (request.socket as Carrier)[CONNECTION]
    if (connection === undefined) serve(request, response)
    else connection.take({ request, response, serve })
  }

  /** The connection no longer carries HTTP (CONNECT). */
  release(socket: Carrier): void {
    socket[CONNECTION]?.release()
  }

  slotFor(address: string, isPaced: boolean): QueueSlot {
    return (isPaced ? this.#pacedQueue : this.#queue).take(address)
  }

  /** Returns false when the address has too many pipelined connections. */
  admit(socket: Socket, address: string): boolean {
    const open = this.#byAddress.get(address) ?? 0
    if (open >= PER_ADDRESS) return false
    this.#byAddress.set(address, open + 1)
    socket.once('close', () => setTimeout(() => this.#countClosed(address), CLOSED_COUNTS_MS).unref())
    return true
  }

  isPipelining(address: string): boolean {
    return this.#byAddress.has(address)
  }

  #countClosed(address: string): void {
    const left = (this.#byAddress.get(address) ?? 1) - 1
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }
}
