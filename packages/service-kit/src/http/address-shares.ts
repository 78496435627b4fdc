/**
 * Something of which there is only so much, shared by callers: places, bytes of bodies. A caller gets more only while it
 * holds less than `factor` times what is free. So with 1 it may hold a half alone, with 2 two thirds, and however much
 * few callers hold, something is left for one that holds nothing.
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

  /** False when there is not enough, or `holder` has its share. */
  take(holder: string, count = 1): boolean {
    const held = this.#held.get(holder) ?? 0
    const free = this.#capacity - this.#taken
    if (count > free || held + count - 1 >= this.#factor * (free - count + 1)) return false
    this.#held.set(holder, held + count)
    this.#taken += count
    return true
  }

  /** Gives back what was taken before. */
  give(holder: string, count = 1): void {
    const left = (this.#held.get(holder) ?? 0) - count
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
    this.#taken -= count
  }

  get hasRoom(): boolean {
    return this.#taken < this.#capacity
  }

  /** Taken now, by all. */
  get taken(): number {
    return this.#taken
  }
}
