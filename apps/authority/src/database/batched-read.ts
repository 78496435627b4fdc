import { Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { Statement } from './database.ts'

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

/**
 * Reads rows by key for many callers. Callers of one loop turn, or during a read, share the next one. It starts after
 * each of them asked, so a change that was committed before is always seen.
 */
export class BatchedRead<Row> {
  readonly #reads: Batcher<string, readonly Row[]>

  constructor(load: (keys: readonly string[]) => Promise<readonly Row[]>, keyOf: (row: Row) => string) {
    this.#reads = new Batcher<string, readonly Row[]>(
      async (keys) => {
        const rows = Map.groupBy(await load([...new Set(keys)]), keyOf)
        return keys.map((key) => rows.get(key) ?? [])
      },
      { maxItems: 200, maxWaiting: 5000, delay: endOfLoopTurn },
    )
  }

  /** All rows of a key, in the order of the read. */
  list(key: string): Promise<readonly Row[]> {
    return this.#reads.add(key)
  }

  /** The only row of a key. */
  async find(key: string): Promise<Row | undefined> {
    return (await this.list(key))[0]
  }

  close(): Promise<void> {
    return this.#reads.close()
  }
}

/** A SELECT for a list of ids, in no order. `write` gets the condition that follows the column of the id. */
export function selectByIds<Row>(name: string, write: (isOneOf: string) => string): Statement<readonly string[], Row> {
  return {
    name,
    isRead: true,
    postgres: { text: write('= any($1::text[])'), values: (ids) => [ids] },
    sqlite: (prepare, ids) =>
      prepare(write('in (select value from json_each(?))')).all(JSON.stringify(ids)) as unknown as Row[],
  }
}
