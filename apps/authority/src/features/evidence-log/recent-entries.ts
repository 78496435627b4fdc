import type { ChainedEntry } from '@chancery/protocol'

/** Maximum number of characters in the cache. Above it the oldest lines are dropped. */
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * Caches the newest lines that this process serialised and hashed. A row with exactly this text needs no second check
 * before it enters the log, because its digest was computed from that text. Other rows are read and checked.
 */
export class RecentEntries {
  readonly #entries = new Map<number, ChainedEntry>()
  #characters = 0

  add(entries: readonly ChainedEntry[]): void {
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

  /** Drops lines that are in the log. */
  drop(through: number): void {
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
