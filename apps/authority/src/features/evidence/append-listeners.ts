import type { ChainedEntry } from '@chancery/protocol'

/** Follows the chain. The transparency log is one; evidence does not know it. */
export interface AppendListener {
  /** Called after each commit, with the entries in the order of the chain. */
  onAppended(entries: readonly ChainedEntry[]): void
  /** Called before entries are removed. */
  beforeRemoval(): Promise<void>
}

export class AppendListeners {
  readonly #listeners: AppendListener[] = []

  add(listener: AppendListener): void {
    this.#listeners.push(listener)
  }

  /** Called after COMMIT, with what was appended. */
  publishAppended(entries: readonly ChainedEntry[]): void {
    for (const listener of this.#listeners) listener.onAppended(entries)
  }

  /** Waits until every listener has all entries: those that are removed now cannot be read later. */
  async prepareRemoval(): Promise<void> {
    for (const listener of this.#listeners) await listener.beforeRemoval()
  }
}
