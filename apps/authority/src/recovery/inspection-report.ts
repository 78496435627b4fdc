import { isJsonObject, readJson, verifyList } from '@chancery/protocol'
import type { JsonObject, Signature } from '@chancery/protocol'

/** Who wrote the database, and whose key every record of its own must verify under. */
export interface InspectedAuthority {
  /** The current key first. */
  readonly publicKeys: readonly string[]
  readonly sovereign: string
}

/** A kept list is as long as a list may get. */
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }
/** A database in which everything is broken must not fill the memory of whoever looks at it. */
const MAX_PROBLEMS = 1000

/** What was looked at and what was found. */
export class InspectionNotes {
  readonly counts: Record<string, number> = {}
  readonly problems: string[] = []
  readonly #publicKeys: readonly string[]

  constructor(publicKeys: readonly string[]) {
    this.#publicKeys = publicKeys
  }

  saw(kind: string, count = 1): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + count
  }

  problem(line: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(line)
  }

  /** The stored text as a record of ours with a list of signatures; undefined when it is none. */
  async ownRecord(kind: string, id: string, text: string): Promise<JsonObject | undefined> {
    this.saw(kind)
    const record = parse(text)
    if (record === undefined) this.problem(`${kind} ${id}: is not a record`)
    else if (!(await this.#isSigned(record))) this.problem(`${kind} ${id}: its signature does not verify`)
    return record
  }

  async #isSigned(record: JsonObject): Promise<boolean> {
    if (!Array.isArray(record['signatures'])) return false
    return verifyList(record as JsonObject & { signatures: Signature[] }, this.#publicKeys)
  }
}

export function parse(text: string): JsonObject | undefined {
  try {
    const record = readJson(text, LIMITS)
    return isJsonObject(record) ? record : undefined
  } catch {
    // What cannot be read is what an inspection looks for.
    return undefined
  }
}

/** Rows page by page behind a key; `page` gives the next ones in its order. */
export async function* pages<Key, Row>(
  first: Key,
  page: (after: Key) => Promise<readonly Row[]>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row> {
  for (let after = first; ;) {
    const rows = await page(after)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined) return
    after = keyOf(last)
  }
}
