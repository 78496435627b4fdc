import { connect, type Socket } from 'node:net'

const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i
const CLOSES = /\r\nconnection: close/i

export interface Answered {
  readonly status: number
  readonly milliseconds: number
  /** Status line and headers. */
  readonly head: string
  readonly body: Buffer
}

interface ConnectionEvents {
  /** Called after each complete response; returns the next request, undefined to stop, or that `send` will follow. */
  next(answered: Answered): Buffer | 'wait' | undefined
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
  /** No request is in flight. */
  #isWaiting = true
  #isClosed = false

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
    // The server closes connections that wait for too long.
    if (this.#isClosed) this.#socket = this.#open()
    this.#isWaiting = false
    this.#sentAt = performance.now()
    this.#socket.write(request)
  }

  #open(): Socket {
    this.#isClosed = false
    this.#received = undefined
    const { host, port, localAddress } = this.#place
    const socket = connect({ host, port, noDelay: true, ...(localAddress === undefined ? {} : { localAddress }) })
    socket.on('data', (chunk) => this.#onData(chunk as Buffer))
    let isConnected = false
    socket.once('connect', () => {
      isConnected = true
    })
    socket.on('error', (error) => {
      if (this.#socket === socket) this.#isClosed = true
      if (!(this.#isWaiting && isConnected)) this.#events.failed(error)
    })
    socket.on('close', () => {
      if (this.#isStopped) this.#events.ended()
      else if (this.#socket === socket) {
        this.#isClosed = true
        if (!this.#isWaiting) this.#events.failed(new Error('a connection was closed without notice'))
      }
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
    else this.#onAnswer(head, bytes.subarray(headEnd + 4))
  }

  #onAnswer(head: string, body: Buffer): void {
    this.#isWaiting = true
    const milliseconds = performance.now() - this.#sentAt
    const request = this.#events.next({ status: Number(head.slice(9, 12)), milliseconds, head, body })
    if (request === undefined) {
      this.#isStopped = true
      this.#socket.end()
      return
    }
    // The server closes this connection after a number of requests, so the load continues on another one.
    if (CLOSES.test(head)) this.#socket = this.#open()
    if (request === 'wait') return
    const delay = this.#events.delayMs?.() ?? 0
    if (delay <= 0) this.send(request)
    else setTimeout(() => this.send(request), delay)
  }
}
