import { write, writeSync } from 'node:fs'

/** Where finished lines go. */
export interface LogDestination {
  write(line: string): void
  /** Called before the process ends: nothing asynchronous runs afterwards. Must not throw. */
  flushSync?(): void
}

const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024
const FLUSH_LIMIT_MS = 1000
const PAUSE_MS = 10
/** From the end of one write to the next: a busy service says many lines meanwhile, a quiet one waits for nothing. */
const GATHER_MS = 5
const pause = new Int32Array(new SharedArrayBuffer(4))

/**
 * Lines to a file descriptor, one write in flight, what waited goes with the next. A log must never take the service
 * down: a reader that stopped reading or a full disk costs lines (counted), not memory, not an exception, and not an
 * exit that hangs.
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

  /** Lines given up since the start. */
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
    // The write in flight runs on another thread; a moment lets it end first, so that lines keep their order.
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

  /** Lines logged until then are written together: one write by another thread for every line is expensive. */
  #writeSoon(): void {
    if (performance.now() - this.#writtenMs < GATHER_MS) setTimeout(() => this.#writeWaiting(), GATHER_MS)
    else setImmediate(() => this.#writeWaiting())
  }

  #writeWaiting(): void {
    const lines = this.#waiting.length
    // A flush may have been first.
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
