import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limitAddress } from './call.ts'
import type { QueueSlot } from '../async/fair-queue.ts'

export type Serve = (request: IncomingMessage, response: ServerResponse) => void
export type OnData = (piece: Buffer) => void

/** Bytes passed to the parser at once, besides an announced body: at most a few dozen of the smallest requests. */
const PIECE_BYTES = 1024
/** Bytes passed at once of a chunked body: each chunk costs the parser a call, even a small one. */
const CHUNKS_BYTES = 4096
const NO_BYTES = Buffer.alloc(0)

interface ParsedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly serve: Serve
}

/** State shared by pipelined connections. */
interface Shared {
  slotFor(address: string, isPaced: boolean): QueueSlot
  isPipelining(address: string): boolean
  admit(socket: Socket, address: string): boolean
}

/**
 * One connection and its unparsed data. One request is active at a time; the socket is paused while more are queued.
 */
export class PipelinedConnection {
  readonly #address: string
  readonly #socket: Socket & { readonly _paused?: boolean }
  readonly #onData: OnData
  readonly #shared: Shared
  /** Bytes not passed to the parser yet. */
  #unparsed: Buffer = NO_BYTES
  /** Requests that the parser found in the same piece as the one before. */
  readonly #parsed: ParsedRequest[] = []
  /** The last served request. */
  #current: ParsedRequest | undefined
  /** Bytes passed to the parser after the piece with the head of the current request. */
  #parsedBytes = 0
  /** The request whose response end wakes this connection. */
  #awaitedResponse: ParsedRequest | undefined
  #slot: QueueSlot | undefined
  #isPaused = false
  /** True when opened while other connections of its address were pipelined. */
  readonly #isOpenedDuringPipelining: boolean
  #isPipelined = false
  #isReleased = false

  constructor(socket: Socket, onData: OnData, shared: Shared) {
    this.#address = limitAddress(socket.remoteAddress ?? '')
    this.#socket = socket
    this.#onData = onData
    this.#shared = shared
    this.#isOpenedDuringPipelining = shared.isPipelining(this.#address)
  }

  receive(bytes: Buffer): void {
    this.#unparsed = this.#unparsed.length === 0 ? bytes : Buffer.concat([this.#unparsed, bytes])
    if (this.#isPaused) return
    if (this.#isPaced) this.#pause()
    else this.#parse()
  }

  take(parsed: ParsedRequest): void {
    if (this.#isAtWork) {
      this.#parsed.push(parsed)
      return
    }
    this.#current = parsed
    this.#parsedBytes = 0
    parsed.serve(parsed.request, parsed.response)
  }

  /** Continues when the connection was waiting and may proceed now. */
  wake(): void {
    if (!this.#isPaused || this.#slot !== undefined || !this.#canContinue) return
    if (!this.#isOpen) this.#update()
    else if (this.#isPaced || this.#isInChunks) this.#waitForSlot()
    else this.#parse()
  }

  /** Pauses again: Node resumes a connection when reading of a body continues. */
  stayPaused(): void {
    if (!this.#isPaused) return
    this.#socket.pause()
    this.wake()
  }

  release(): void {
    this.#isReleased = true
  }

  #waitForSlot(): void {
    const slot = this.#shared.slotFor(this.#address, this.#isPaced)
    this.#slot = slot
    void slot.granted.then(() => {
      this.#slot = undefined
      try {
        this.#continue()
      } finally {
        slot.end()
      }
    })
  }

  /** Serves one queued request, or passes one piece to the parser. */
  #continue(): void {
    const next = this.#isOpen && !this.#isAtWork ? this.#parsed.shift() : undefined
    if (next === undefined) return this.#parse()
    this.take(next)
    this.#update()
  }

  /** True when this connection needs a slot of the queue to proceed. */
  get #isPaced(): boolean {
    return this.#isPipelined || (this.#isOpenedDuringPipelining && this.#shared.isPipelining(this.#address))
  }

  get #isOpen(): boolean {
    return !this.#isReleased && !this.#socket.destroyed && !this.#socket.writableEnded
  }

  /** True until the whole response has been sent, not only written. */
  get #isAtWork(): boolean {
    return this.#current !== undefined && !this.#current.response.destroyed
  }

  /** True when the parser may get more: no request is active, or its body is arriving and its buffer is not full. */
  get #canParse(): boolean {
    if (this.#parsed.length > 0 || this.#socket.writableNeedDrain || !this.#isOpen) return false
    // oxlint-disable-next-line no-underscore-dangle -- the platform's parser takes nothing while this is set
    if (this.#socket._paused === true) return false
    if (this.#current === undefined || !this.#isAtWork) return true
    const { complete, readableLength, readableHighWaterMark } = this.#current.request
    return !complete && readableLength < readableHighWaterMark
  }

  get #canContinue(): boolean {
    return !this.#isOpen || this.#canParse || (this.#parsed.length > 0 && !this.#isAtWork)
  }

  get #isInBody(): boolean {
    return this.#isAtWork && this.#current?.request.complete === false
  }

  /** Missing bytes of the announced body; 0 or less for a chunked body. */
  get #bodyLeft(): number {
    return this.#isInBody ? Number(this.#current?.request.headers['content-length'] ?? 0) - this.#parsedBytes : 0
  }

  get #isInChunks(): boolean {
    return this.#isInBody && this.#bodyLeft <= 0
  }

  #parse(): void {
    const first = this.#current
    while (this.#unparsed.length > 0 && this.#canParse) {
      const before = this.#current
      const isInChunks = this.#isInChunks
      const piece = this.#unparsed.subarray(0, isInChunks ? CHUNKS_BYTES : Math.max(PIECE_BYTES, this.#bodyLeft))
      this.#unparsed = this.#unparsed.subarray(piece.length)
      this.#onData(piece)
      if (this.#current === before) this.#parsedBytes += piece.length
      if (isInChunks) break
    }
    if (!this.#isPipelined && this.#hasMoreRequests(first)) this.#startPipelining()
    this.#update()
  }

  /** True when the caller sent more than the active request before its response was written. */
  #hasMoreRequests(before: ParsedRequest | undefined): boolean {
    if (this.#parsed.length > 0) return true
    const current = this.#current
    if (this.#unparsed.length === 0 || current === undefined || !this.#isAtWork || this.#isInBody) return false
    return current !== before || !current.response.writableEnded
  }

  #startPipelining(): void {
    this.#isPipelined = true
    if (!this.#shared.admit(this.#socket, this.#address)) this.#socket.destroy()
  }

  #update(): void {
    if (!this.#isOpen) this.#drop()
    else if (this.#unparsed.length > 0 || this.#parsed.length > 0) this.#pause()
    else if (this.#isPaused) this.#resume()
  }

  /**
   * Stops serving. Further bytes are read and dropped so that the caller receives the last response, unless it
   * pipelines.
   */
  #drop(): void {
    this.#unparsed = NO_BYTES
    this.#parsed.length = 0
    if (this.#isPipelined) this.#socket.pause()
    else if (this.#isPaused) this.#resume()
  }

  #resume(): void {
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Pauses the socket until this connection may proceed. */
  #pause(): void {
    this.#isPaused = true
    this.#socket.pause()
    if (this.#isAtWork && this.#awaitedResponse !== this.#current) {
      this.#awaitedResponse = this.#current
      this.#current?.response.once('close', () => this.wake())
    }
    this.wake()
  }
}
