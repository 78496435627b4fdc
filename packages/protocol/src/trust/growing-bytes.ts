/** Bytes that are written one piece after another. */
export class GrowingBytes {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  constructor(room: number) {
    this.#bytes = new Uint8Array(Math.max(64, room))
  }

  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    const end = this.#length + piece.length
    if (end > this.#bytes.length) this.#grow(end)
    this.#bytes.set(piece, this.#length)
    this.#length = end
  }

  /** Leaves so many bytes free, to be filled later. */
  skip(length: number): void {
    const end = this.#length + length
    if (end > this.#bytes.length) this.#grow(end)
    this.#length = end
  }

  /** What was written; further pieces would change it. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(least: number): void {
    const next = new Uint8Array(Math.max(least, Math.ceil(this.#bytes.length * 1.5)))
    next.set(this.view())
    this.#bytes = next
  }
}
