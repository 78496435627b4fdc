import { CompiledQuery } from 'kysely'
import type { Database, Tx } from './database.ts'

const names = new Map<string, string>()

/**
 * Gives a PostgreSQL statement a name: connections then parse and plan it once (see honest-client.ts). Its text must be
 * constant, since every text is kept as long as the connection.
 */
export function cachePlan(name: string, text: string): string {
  names.set(text, name)
  return text
}

/** The name of a statement whose plan is kept. */
export function planStatementName(text: string): string | undefined {
  return names.get(text)
}

/**
 * A question about a list of ids, spelled once for both engines; each id is its own index probe. The right plan for a
 * small table is the wrong one for a large one, so a plan is kept only until the table has doubled.
 */
export class IdStatement<Row> {
  readonly #name: string
  readonly #texts: Readonly<Record<Database['engine'], string>>
  readonly #kept: string[] = []

  /** `spell` gets the ids as rows `t(id)`, and one more value. */
  constructor(name: string, spell: (ids: string, value: string) => string) {
    this.#name = name
    this.#texts = {
      postgres: spell('unnest($1::text[]) as t(id)', '$2::bigint'),
      sqlite: spell('(select value as id from json_each(?)) as t', '?'),
    }
  }

  /** `size` is about how many rows the table has; without it nothing is kept. */
  async run(
    database: Database,
    tx: Tx,
    ids: readonly string[],
    size?: number,
    value?: number,
  ): Promise<readonly Row[]> {
    if (ids.length === 0) return []
    const list = database.engine === 'postgres' ? ids : JSON.stringify(ids)
    const { rows } = await tx.executeQuery(
      CompiledQuery.raw(this.#textFor(database, size), value === undefined ? [list] : [list, value]),
    )
    return rows as readonly Row[]
  }

  #textFor({ engine: backend }: Database, size: number | undefined): string {
    const text = this.#texts[backend]
    if (backend === 'sqlite' || size === undefined) return text
    const doublings = Math.ceil(Math.log2(size + 1))
    return (this.#kept[doublings] ??= cachePlan(`${this.#name}-${doublings}`, `${text} -- ${doublings}`))
  }
}
