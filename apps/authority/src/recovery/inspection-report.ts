import { type JsonObject, type Signature, isJsonObject, readJson, verifyList } from '@chancery/protocol'

/** The owner of the database, whose keys verify its own records. */
export interface InspectedAuthority {
  /** The current key first. */
  readonly publicKeys: readonly string[]
  readonly sovereign: string
}

/** Maximum size of a stored list. */
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }
/** Limits the findings, so that a database with many faults does not fill the memory. */
const MAX_PROBLEMS = 1000

/** The number of checked records, and the findings. */
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

  /** Returns the stored text as an own record with a list of signatures. Undefined when it is none. */
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
    // An unreadable text is a finding, not a failure.
    return undefined
  }
}

/** Reads rows page by page after a key; `page` returns the next ones in its order. */
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
