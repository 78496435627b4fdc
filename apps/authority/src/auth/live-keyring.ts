import type { OperatorKey, OperatorKeyring } from './operator-keys.ts'

/** A keyring whose content can be replaced as a whole, while others refer to it. */
export class LiveKeyring implements OperatorKeyring {
  #ring: OperatorKeyring

  constructor(ring: OperatorKeyring) {
    this.#ring = ring
  }

  replace(ring: OperatorKeyring): void {
    this.#ring = ring
  }

  get size(): number {
    return this.#ring.size
  }

  get(key_id: string): OperatorKey | undefined {
    return this.#ring.get(key_id)
  }

  has(key_id: string): boolean {
    return this.#ring.has(key_id)
  }

  forEach(visit: (key: OperatorKey, key_id: string, ring: OperatorKeyring) => void): void {
    this.#ring.forEach(visit)
  }

  entries(): MapIterator<[string, OperatorKey]> {
    return this.#ring.entries()
  }

  keys(): MapIterator<string> {
    return this.#ring.keys()
  }

  values(): MapIterator<OperatorKey> {
    return this.#ring.values()
  }

  [Symbol.iterator](): MapIterator<[string, OperatorKey]> {
    return this.#ring.entries()
  }
}
