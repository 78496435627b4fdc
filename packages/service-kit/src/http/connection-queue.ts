import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limitAddress } from './client-address.ts'
import type { QueueSlot } from '../async/fair-queue.ts'

export type Serve = (request: IncomingMessage, response: ServerResponse) => void
export type OnData = (piece: Buffer) => void

/** What the parser gets at once beyond a body that was announced: a few dozen requests of the smallest kind. */
const PIECE_BYTES = 1024
/** Of a body in chunks: each of them costs the parser a call, however small it is. */
const CHUNKS_BYTES = 4096
const NO_BYTES = Buffer.alloc(0)

interface Taken {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly serve: Serve
}

/** What connections share on which requests wait. */
interface Shared {
  turnFor(address: string, isPaced: boolean): QueueSlot
  isPipelining(address: string): boolean
  admit(socket: Socket, address: string): boolean
}

/** One connection and what it has sent. One request is at work at a time; the socket is paused while more waits. */
export class Line {
  readonly #address: string
  readonly #socket: Socket & { readonly _paused?: boolean }
  readonly #onData: OnData
  readonly #shared: Shared
  /** Not given to the parser yet. */
  #rest: Buffer = NO_BYTES
  /** Found by the parser in one piece with the request before. */
  readonly #parsed: Taken[] = []
  /** The last one that was served. */
  #current: Taken | undefined
  /** Given to the parser after the piece with the head of the current one. */
  #given = 0
  /** The end of its answer is listened for. */
  #awaited: Taken | undefined
  #turn: QueueSlot | undefined
  #isHeld = false
  /** Opened while other connections of its address were pipelined. */
  readonly #isBeside: boolean
  #isPipelined = false
  #isReleased = false

  constructor(socket: Socket, onData: OnData, shared: Shared) {
    this.#address = limitAddress(socket.remoteAddress ?? '')
    this.#socket = socket
    this.#onData = onData
    this.#shared = shared
    this.#isBeside = shared.isPipelining(this.#address)
  }

  receive(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    if (this.#isHeld) return
    if (this.#isPaced) this.#hold()
    else this.#give()
  }

  take(taken: Taken): void {
    if (this.#isAtWork) {
      this.#parsed.push(taken)
      return
    }
    this.#current = taken
    this.#given = 0
    taken.serve(taken.request, taken.response)
  }

  /** Something has happened for which it may have waited. */
  wake(): void {
    if (!this.#isHeld || this.#turn !== undefined || !this.#canGoOn) return
    if (!this.#isOpen) this.#settle()
    else if (this.#isPaced || this.#isInChunks) this.#takeTurn()
    else this.#give()
  }

  /** The platform resumes a connection whenever a body is read on. */
  stayPaused(): void {
    if (!this.#isHeld) return
    this.#socket.pause()
    this.wake()
  }

  release(): void {
    this.#isReleased = true
  }

  #takeTurn(): void {
    const turn = this.#shared.turnFor(this.#address, this.#isPaced)
    this.#turn = turn
    void turn.come.then(() => {
      this.#turn = undefined
      try {
        this.#goOn()
      } finally {
        turn.end()
      }
    })
  }

  /** One request, or one piece for the parser. */
  #goOn(): void {
    const next = this.#isOpen && !this.#isAtWork ? this.#parsed.shift() : undefined
    if (next === undefined) return this.#give()
    this.take(next)
    this.#settle()
  }

  /** Goes on in turns only. */
  get #isPaced(): boolean {
    return this.#isPipelined || (this.#isBeside && this.#shared.isPipelining(this.#address))
  }

  get #isOpen(): boolean {
    return !this.#isReleased && !this.#socket.destroyed && !this.#socket.writableEnded
  }

  /** Until the whole answer has left, not only been written. */
  get #isAtWork(): boolean {
    return this.#current !== undefined && !this.#current.response.destroyed
  }

  /** The parser may have more: nothing is at work, or its body is on its way and has room. */
  get #canGive(): boolean {
    if (this.#parsed.length > 0 || this.#socket.writableNeedDrain || !this.#isOpen) return false
    // oxlint-disable-next-line no-underscore-dangle -- the platform's parser takes nothing while this is set
    if (this.#socket._paused === true) return false
    if (this.#current === undefined || !this.#isAtWork) return true
    const { complete, readableLength, readableHighWaterMark } = this.#current.request
    return !complete && readableLength < readableHighWaterMark
  }

  get #canGoOn(): boolean {
    return !this.#isOpen || this.#canGive || (this.#parsed.length > 0 && !this.#isAtWork)
  }

  get #isInBody(): boolean {
    return this.#isAtWork && this.#current?.request.complete === false
  }

  /** Bytes of the announced body that are missing; unknown for a body in chunks. */
  get #bodyLeft(): number {
    return this.#isInBody ? Number(this.#current?.request.headers['content-length'] ?? 0) - this.#given : 0
  }

  get #isInChunks(): boolean {
    return this.#isInBody && this.#bodyLeft <= 0
  }

  #give(): void {
    const first = this.#current
    while (this.#rest.length > 0 && this.#canGive) {
      const before = this.#current
      const isInChunks = this.#isInChunks
      const piece = this.#rest.subarray(0, isInChunks ? CHUNKS_BYTES : Math.max(PIECE_BYTES, this.#bodyLeft))
      this.#rest = this.#rest.subarray(piece.length)
      this.#onData(piece)
      if (this.#current === before) this.#given += piece.length
      if (isInChunks) break
    }
    if (!this.#isPipelined && this.#hasUnasked(first)) this.#notePipelined()
    this.#settle()
  }

  /** True when more was sent than the request at work, before its answer was written. */
  #hasUnasked(before: Taken | undefined): boolean {
    if (this.#parsed.length > 0) return true
    const current = this.#current
    if (this.#rest.length === 0 || current === undefined || !this.#isAtWork || this.#isInBody) return false
    return current !== before || !current.response.writableEnded
  }

  #notePipelined(): void {
    this.#isPipelined = true
    if (!this.#shared.admit(this.#socket, this.#address)) this.#socket.destroy()
  }

  #settle(): void {
    if (!this.#isOpen) this.#drop()
    else if (this.#rest.length > 0 || this.#parsed.length > 0) this.#hold()
    else if (this.#isHeld) this.#flow()
  }

  /** Nothing more is served. What still comes is read, so that the last answer is not lost, unless it has no end. */
  #drop(): void {
    this.#rest = NO_BYTES
    this.#parsed.length = 0
    if (this.#isPipelined) this.#socket.pause()
    else if (this.#isHeld) this.#flow()
  }

  #flow(): void {
    this.#isHeld = false
    this.#socket.resume()
  }

  /** The rest stays with the sender until this connection may go on. */
  #hold(): void {
    this.#isHeld = true
    this.#socket.pause()
    if (this.#isAtWork && this.#awaited !== this.#current) {
      this.#awaited = this.#current
      this.#current?.response.once('close', () => this.wake())
    }
    this.wake()
  }
}
