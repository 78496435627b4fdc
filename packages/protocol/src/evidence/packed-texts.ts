import { fromUtf8, toUtf8 } from '../canonical/utf8.ts'

const SLAB_BYTES = 1 << 20
const LENGTH_BYTES = 4

/** Many small texts, one behind the other in large blocks: a text of its own would cost as much again to keep. */
export class PackedTexts {
  readonly #slabs: Uint8Array[] = []
  #used = SLAB_BYTES

  /** Gives the place it can be read from. */
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
    const place = (this.#slabs.length - 1) * SLAB_BYTES + this.#used
    this.#used += needed
    this.#write(place, bytes)
    return place
  }

  /** In its own place when it fits there; gives the place it has now. */
  replace(place: number, bytes: Uint8Array): number {
    if (this.readBytes(place).length < bytes.length) return this.addBytes(bytes)
    this.#write(place, bytes)
    return place
  }

  read(place: number): string {
    return fromUtf8(this.readBytes(place)) ?? ''
  }

  readBytes(place: number): Uint8Array {
    const slab = this.#slabs[Math.floor(place / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = place % SLAB_BYTES
    const length = new DataView(slab.buffer).getUint32(at)
    return slab.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)
  }

  #write(place: number, bytes: Uint8Array): void {
    const slab = this.#slabs[Math.floor(place / SLAB_BYTES)]
    if (slab === undefined) throw new RangeError('nothing is packed there')
    const at = place % SLAB_BYTES
    new DataView(slab.buffer).setUint32(at, bytes.length)
    slab.set(bytes, at + LENGTH_BYTES)
  }
}
