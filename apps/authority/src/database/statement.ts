import { CompiledQuery } from 'kysely'
import type { Database, Reader } from './database.ts'

const names = new Map<string, string>()

/**
 * Names a PostgreSQL statement: connections then parse and plan it once (postgres/client.ts). Its text must be constant,
 * because a connection stores every named text until it closes.
 */
export function cachePlan(name: string, text: string): string {
  names.set(text, name)
  return text
}

/** Returns the name of a statement whose plan is cached. */
export function planStatementName(text: string): string | undefined {
  return names.get(text)
}

/** How often a table of this size has doubled. Statements that have it in their name are planned again when it changes. */
export function doublingsOf(size: number): number {
  return Math.ceil(Math.log2(size + 1))
}

/**
 * A SELECT for a list of ids, written once for both engines; each id is one index probe. A good plan for a small table
 * is a bad one for a large table, so a plan is used only until the table has doubled.
 */
export class IdStatement<Row> {
  readonly #name: string
  readonly #texts: Readonly<Record<Database['engine'], string>>
  readonly #cached: string[] = []

  /** `write` gets the ids as rows `t(id)`, and one more value. */
  constructor(name: string, write: (ids: string, value: string) => string) {
    this.#name = name
    this.#texts = {
      postgres: write('unnest($1::text[]) as t(id)', '$2::bigint'),
      sqlite: write('(select value as id from json_each(?)) as t', '?'),
    }
  }

  /** `size` is about how many rows the table has; without it no plan is cached. */
  async run(
    database: Database,
    reader: Reader,
    ids: readonly string[],
    size?: number,
    value?: number,
  ): Promise<readonly Row[]> {
    if (ids.length === 0) return []
    const list = database.engine === 'postgres' ? ids : JSON.stringify(ids)
    const { rows } = await reader
      .getExecutor()
      .executeQuery(CompiledQuery.raw(this.#textFor(database, size), value === undefined ? [list] : [list, value]))
    return rows as readonly Row[]
  }

  #textFor({ engine }: Database, size: number | undefined): string {
    const text = this.#texts[engine]
    if (engine === 'sqlite' || size === undefined) return text
    const doublings = doublingsOf(size)
    return (this.#cached[doublings] ??= cachePlan(`${this.#name}-${doublings}`, `${text} -- ${doublings}`))
  }
}
