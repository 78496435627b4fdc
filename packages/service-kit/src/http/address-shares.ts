/**
 * Divides a limited resource (slots, body bytes) among callers. A caller gets more only while it uses less than
 * `factor` times the free amount. With factor 1 a single caller may use half, with 2 two thirds. Some is always left
 * for a caller that uses none.
 */
export class Shares {
  readonly #capacity: number
  readonly #factor: number
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(capacity: number, factor: 1 | 2) {
    this.#capacity = capacity
    this.#factor = factor
  }

  /** Returns false when there is not enough, or `holder` has its share. */
  take(holder: string, count = 1): boolean {
    const held = this.#held.get(holder) ?? 0
    const free = this.#capacity - this.#taken
    if (count > free || held + count - 1 >= this.#factor * (free - count + 1)) return false
    this.#held.set(holder, held + count)
    this.#taken += count
    return true
  }

  /** Releases an amount taken before. */
  give(holder: string, count = 1): void {
    const left = (this.#held.get(holder) ?? 0) - count
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
    this.#taken -= count
  }

  get hasRoom(): boolean {
    return this.#taken < this.#capacity
  }

  /** Amount in use by all callers. */
  get taken(): number {
    return this.#taken
  }
}
