import type { ChainedEntry } from '@chancery/protocol'

/** Characters of all lines held; beyond it the oldest go. */
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * The newest lines this process spelled and hashed itself. A row that holds the very same text needs no second reading
 * before it enters the log: its digest was computed from that text. Whatever differs, or is not here, is read anew.
 */
export class RecentEntries {
  readonly #entries = new Map<number, ChainedEntry>()
  #characters = 0

  keep(entries: readonly ChainedEntry[]): void {
    for (const each of entries) {
      this.#drop(each.entry.store_sequence)
      this.#entries.set(each.entry.store_sequence, each)
      this.#characters += each.line.length
    }
    for (const sequence of this.#entries.keys()) {
      if (this.#characters <= MAX_CHARACTERS) break
      this.#drop(sequence)
    }
  }

  find(sequence: number): ChainedEntry | undefined {
    return this.#entries.get(sequence)
  }

  /** They are in the log. */
  forget(through: number): void {
    for (const sequence of this.#entries.keys()) {
      if (sequence > through) break
      this.#drop(sequence)
    }
  }

  #drop(sequence: number): void {
    this.#characters -= this.#entries.get(sequence)?.line.length ?? 0
    this.#entries.delete(sequence)
  }
}
