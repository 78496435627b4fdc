const FINE_MS = 0.1
const FINE = 10_000
const COARSE_MS = 10
const COARSE = 12_000

/** Times with an error of 0.1 ms below a second and of 10 ms above, so that millions of them take no memory. */
export class Histogram {
  readonly #fine = new Uint32Array(FINE)
  readonly #coarse = new Uint32Array(COARSE)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(ms: number): void {
    this.#count += 1
    const fine = Math.floor(Math.max(0, ms) / FINE_MS)
    if (fine < FINE) this.#fine[fine] = (this.#fine[fine] ?? 0) + 1
    else {
      const coarse = Math.min(Math.floor(ms / COARSE_MS), COARSE - 1)
      this.#coarse[coarse] = (this.#coarse[coarse] ?? 0) + 1
    }
  }

  /** Upper end of the step that contains the quantile; not-a-number without values. */
  quantile(share: number): number {
    let left = Math.floor(this.#count * share)
    for (const [index, count] of this.#fine.entries()) if ((left -= count) < 0) return (index + 1) * FINE_MS
    for (const [index, count] of this.#coarse.entries()) if ((left -= count) < 0) return (index + 1) * COARSE_MS
    return Number.NaN
  }
}
