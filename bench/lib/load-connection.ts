import { connect } from 'node:net'
import type { Socket } from 'node:net'

const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i
const CLOSES = /\r\nconnection: close/i

export interface Answered {
  readonly status: number
  readonly milliseconds: number
}

export interface ConnectionEvents {
  /** Called after each complete response; returns the next request, or undefined to stop. */
  next(answered: Answered): Buffer | undefined
  /** Called after `next`: the time until that request is sent. Without it, requests follow at once. */
  delayMs?(): number
  failed(error: Error): void
  ended(): void
}

export interface LoadTarget {
  readonly host: string
  readonly port: number
  readonly localAddress?: string | undefined
}

/** One keep-alive connection with one request in flight. Reads only what it needs to find the end of a response. */
export class LoadConnection {
  readonly #place: LoadTarget
  readonly #events: ConnectionEvents
  #socket: Socket
  #received: Buffer | undefined
  #sentAt = 0
  #isStopped = false

  private constructor(place: LoadTarget, events: ConnectionEvents) {
    this.#place = place
    this.#events = events
    this.#socket = this.#open()
  }

  static open(place: LoadTarget, events: ConnectionEvents): Promise<LoadConnection> {
    const connection = new LoadConnection(place, events)
    return new Promise((resolve) => connection.#socket.once('connect', () => resolve(connection)))
  }

  send(request: Buffer): void {
    this.#sentAt = performance.now()
    this.#socket.write(request)
  }

  #open(): Socket {
    const { host, port, localAddress } = this.#place
    const socket = connect({ host, port, noDelay: true, ...(localAddress === undefined ? {} : { localAddress }) })
    socket.on('data', (chunk) => this.#onData(chunk as Buffer))
    socket.on('error', (error) => this.#events.failed(error))
    socket.on('close', () => {
      if (this.#isStopped) this.#events.ended()
      else if (this.#socket === socket) this.#events.failed(new Error('a connection was closed without notice'))
    })
    return socket
  }

  #onData(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk])
    const headEnd = bytes.indexOf('\r\n\r\n')
    const head = headEnd < 0 ? '' : bytes.toString('latin1', 0, headEnd)
    const length = headEnd + 4 + Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0)
    if (headEnd < 0 || bytes.length < length) {
      this.#received = bytes
      return
    }
    this.#received = undefined
    if (bytes.length > length) this.#events.failed(new Error('more bytes than one answer has'))
    else this.#onAnswer(Number(head.slice(9, 12)), CLOSES.test(head))
  }

  #onAnswer(status: number, closes: boolean): void {
    const request = this.#events.next({ status, milliseconds: performance.now() - this.#sentAt })
    if (request === undefined) {
      this.#isStopped = true
      this.#socket.end()
      return
    }
    // The server closes this connection after a number of requests, so the load continues on another one.
    if (closes) this.#socket = this.#open()
    const delay = this.#events.delayMs?.() ?? 0
    if (delay <= 0) this.send(request)
    else setTimeout(() => this.send(request), delay)
  }
}
