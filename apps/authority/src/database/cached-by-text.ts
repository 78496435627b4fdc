/** Caches facts that follow from a text alone, by that text: an edited row has another text, and is read again. */
export class CachedByText<Value> {
  readonly #values = new Map<string, Value>()
  readonly #maxCharacters: number
  #characters = 0

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters
  }

  find(text: string): Value | undefined {
    return this.#values.get(text)
  }

  /** The oldest go first. */
  keep(text: string, value: Value): void {
    if (!this.#values.has(text)) this.#characters += text.length
    this.#values.set(text, value)
    for (const oldest of this.#values.keys()) {
      if (this.#characters <= this.#maxCharacters) break
      this.#values.delete(oldest)
      this.#characters -= oldest.length
    }
  }
}
