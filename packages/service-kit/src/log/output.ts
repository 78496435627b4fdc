import { write, writeSync } from 'node:fs'

/** Receives finished lines. */
export interface LogDestination {
  write(line: string): void
  /** Called before the process ends: nothing asynchronous runs afterwards. Must not throw. */
  flushSync?(): void
}

const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024
const FLUSH_LIMIT_MS = 1000
const PAUSE_MS = 10
/**
 * Time from the end of one write to the next. A busy service collects many lines meanwhile; a quiet one does not wait.
 */
const GATHER_MS = 5
const pause = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes lines to a file descriptor, one write at a time; queued lines go with the next write. A log must never stop
 * the service: when the reader stops or the disk is full, lines are dropped and counted. Memory stays limited, nothing
 * is thrown, and the process can exit.
 */
export class DescriptorOutput implements LogDestination {
  readonly #descriptor: number
  #waiting: string[] = []
  #waitingCharacters = 0
  #inFlight = false
  #writtenMs = 0
  #lost = 0

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Lines dropped since the start. */
  get lostLines(): number {
    return this.#lost
  }

  write(line: string): void {
    if (this.#waitingCharacters + line.length > MAX_WAITING_CHARACTERS) {
      this.#lost += 1
      return
    }
    this.#waiting.push(line)
    this.#waitingCharacters += line.length
    if (this.#inFlight) return
    this.#inFlight = true
    this.#writeSoon()
  }

  flushSync(): void {
    // The current write runs on another thread. A short wait lets it end first, so that lines stay in order.
    if (this.#inFlight) Atomics.wait(pause, 0, 0, PAUSE_MS)
    let bytes = this.#takeWaiting()
    const end = performance.now() + FLUSH_LIMIT_MS
    while (bytes.length > 0 && performance.now() < end) {
      try {
        bytes = bytes.subarray(writeSync(this.#descriptor, bytes))
      } catch (thrown) {
        if (!isBusy(thrown)) return
        Atomics.wait(pause, 0, 0, PAUSE_MS)
      }
    }
  }

  /** Lines logged until then are written together, because one write per line is expensive. */
  #writeSoon(): void {
    if (performance.now() - this.#writtenMs < GATHER_MS) setTimeout(() => this.#writeWaiting(), GATHER_MS)
    else setImmediate(() => this.#writeWaiting())
  }

  #writeWaiting(): void {
    const lines = this.#waiting.length
    // A flush may have written the lines already.
    if (lines === 0) {
      this.#inFlight = false
      return
    }
    this.#inFlight = true
    this.#writeBytes(this.#takeWaiting(), lines)
  }

  #takeWaiting(): Buffer {
    const bytes = Buffer.from(this.#waiting.join(''), 'utf8')
    this.#waiting = []
    this.#waitingCharacters = 0
    return bytes
  }

  #writeBytes(bytes: Buffer, lines: number): void {
    write(this.#descriptor, bytes, 0, bytes.length, null, (error, written) => {
      if (error !== null && isBusy(error)) {
        setTimeout(() => this.#writeBytes(bytes, lines), PAUSE_MS)
        return
      }
      if (error === null && written < bytes.length) {
        this.#writeBytes(bytes.subarray(written), lines)
        return
      }
      if (error !== null) this.#lost += lines
      this.#writtenMs = performance.now()
      this.#inFlight = this.#waiting.length > 0
      if (this.#inFlight) this.#writeSoon()
    })
  }
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && (thrown.code === 'EAGAIN' || thrown.code === 'EBUSY')
}
