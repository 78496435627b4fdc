import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'

const SLAB_BYTES = 1 << 20
const LENGTH_BYTES = 4

/** Many small texts, one after the other in large blocks: separate texts would need twice the memory. */
export class PackedTexts {
  readonly #slabs: Uint8Array[] = []
  #used = SLAB_BYTES

  /** Returns the offset to read it from. */
  add(text: string): number {
    return this.addBytes(toUtf8(text))
  }

  addBytes(bytes: Uint8Array): number {
    const needed = LENGTH_BYTES + bytes.length
    if (needed > SLAB_BYTES) throw new RangeError('a text is too long to be packed')
    if (this.#used + needed > SLAB_BYTES) {
      this.#slabs.push(new Uint8Array(SLAB_BYTES))
      this.#used = 0
    }
    const offset = (this.#slabs.length - 1) * SLAB_BYTES + this.#used
    this.#used += needed
    this.#write(offset, bytes)
    return offset
  }

  /** Writes at the old offset when it fits; returns the new offset. */
  replace(offset: number, bytes: Uint8Array): number {
    if (this.readBytes(offset).length < bytes.length) return this.addBytes(bytes)
    this.#write(offset, bytes)
    return offset
  }

  read(offset: number): string {
    return fromUtf8(this.readBytes(offset)) ?? ''
  }

  readBytes(offset: number): Uint8Array {
    const slab = this.#slabs[Math.floor(offset / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = offset % SLAB_BYTES
    const length = new DataView(slab.buffer).getUint32(at)
    return slab.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)
  }

  #write(offset: number, bytes: Uint8Array): void {
    const slab = this.#slabs[Math.floor(offset / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = offset % SLAB_BYTES
    new DataView(slab.buffer).setUint32(at, bytes.length)
    slab.set(bytes, at + LENGTH_BYTES)
  }
}
