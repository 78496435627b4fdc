/** Width of a slot. Nodes of one slot are due together. */
const SLOT_MS = 10
/** More than the longest heartbeat interval, 990 s with its variation. */
const SLOTS = 131_072

/** When which node is due: 4 bytes for each node, and constant time for adding and taking. */
export class TimingWheel {
  readonly #first = new Int32Array(SLOTS).fill(-1)
  /** The node after this one in its slot. */
  readonly #next: Int32Array
  #slot = 0

  constructor(nodes: number) {
    this.#next = new Int32Array(nodes).fill(-1)
  }

  /** `atMs` since the start of the wheel. A time that has passed is due at once. A node may be there only once. */
  add(node: number, atMs: number): void {
    const slot = Math.max(Math.floor(atMs / SLOT_MS), this.#slot)
    if (slot - this.#slot >= SLOTS) throw new RangeError(`${atMs} ms is too far ahead`)
    const place = slot % SLOTS
    this.#next[node] = this.#first[place] ?? -1
    this.#first[place] = node
  }

  /** Calls `visit` for all nodes that are due, with the time they were due at. They are no longer in the wheel. */
  take(nowMs: number, visit: (node: number, dueMs: number) => void): void {
    const last = Math.floor(nowMs / SLOT_MS)
    for (; this.#slot < last; this.#slot += 1) {
      const place = this.#slot % SLOTS
      let node = this.#first[place] ?? -1
      this.#first[place] = -1
      while (node >= 0) {
        const next = this.#next[node] ?? -1
        visit(node, this.#slot * SLOT_MS)
        node = next
      }
    }
  }
}
