const BLOCK_BYTES = 1_048_576

/** Bytes that arrive in pieces, gathered in blocks: nothing is copied twice while more of them come. */
export class ByteBlocks {
  readonly #full: Uint8Array<ArrayBuffer>[] = []
  #last = new Uint8Array()
  #used = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    this.#size += chunk.length
    for (let at = 0; at < chunk.length;) {
      if (this.#used === this.#last.length) this.#next()
      const piece = chunk.subarray(at, at + this.#last.length - this.#used)
      this.#last.set(piece, this.#used)
      this.#used += piece.length
      at += piece.length
    }
  }

  /** The blocks, in order. */
  take(): Uint8Array<ArrayBuffer>[] {
    return this.#used === 0 ? this.#full : [...this.#full, this.#last.subarray(0, this.#used)]
  }

  /** One run of bytes. The blocks are given back one by one, so that there are never two of the whole. */
  join(): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(this.#size)
    let at = 0
    for (const block of this.take()) {
      out.set(block, at)
      at += block.length
      releaseBytes(block)
    }
    return out
  }

  /** Small answers get small blocks. */
  #next(): void {
    if (this.#used > 0) this.#full.push(this.#last)
    this.#last = new Uint8Array(Math.min(BLOCK_BYTES, Math.max(16_384, this.#last.length * 4)))
    this.#used = 0
  }
}

/** Gives the memory of bytes back at once instead of some time later. All that shares it is empty from then on. */
export function releaseBytes(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0)
}
