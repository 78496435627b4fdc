import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'

/** A position in one index: the ordered value, then an id. */
export interface Position {
  readonly at: string
  readonly id: string
}

/** A key that an index gives. `id` makes its position unique, and may be the key itself. */
export interface Candidate extends Position {
  readonly key: string
}

/** A part of a table in the order of an index. */
export interface IndexSource {
  readonly table: string
  readonly key: string
  readonly at: string
  readonly id: string
  readonly where: RawBuilder<unknown>
  readonly descending?: true
  /** Ids descend, too: the index is read backwards. */
  readonly backwards?: true
  /** Compared by bytes, as its index sorts it. */
  readonly bytes?: true
}

/** Reads the next candidates after a position, in the order of the index. */
export async function readCandidatesOf(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  source: IndexSource,
  { after, limit }: { readonly after: Position | undefined; readonly limit: number },
): Promise<readonly Candidate[]> {
  const [at, id] = [source.bytes === true ? byBytes(source.at, engine) : sql.ref(source.at), sql.ref(source.id)]
  const next = source.descending === true ? sql`<` : sql`>`
  const nextId = source.backwards === true ? sql`<` : sql`>`
  // The first condition is for the index, which cannot use the alternative.
  const keyset =
    after === undefined
      ? sql``
      : sql`and ${at} ${next}= ${after.at} and (${at} ${next} ${after.at} or ${id} ${nextId} ${after.id})`
  const direction = source.descending === true ? sql`desc` : sql``
  const idDirection = source.backwards === true ? sql`desc` : sql``
  const { rows } = await sql<Candidate>`
    select ${sql.ref(source.key)} as key, ${sql.ref(source.at)} as at, ${id} as id from ${sql.table(source.table)}
    where ${source.where} ${keyset} order by ${at} ${direction}, ${id} ${idDirection} limit ${limit}`.execute(read)
  return rows
}

/** A column as an index of prefixes sorts it: other collations cannot serve a prefix. */
export function byBytes(name: string, engine: Database['engine']): RawBuilder<unknown> {
  return engine === 'postgres' ? sql`${sql.ref(name)} collate "C"` : sql`${sql.ref(name)}`
}

/** True for texts with the prefix. U+10FFFF is greater than every other character, by bytes of UTF-8. */
export function beginsWith(name: string, prefix: string, engine: Database['engine']): RawBuilder<unknown> {
  const at = byBytes(name, engine)
  return sql`${at} >= ${prefix} and ${at} < ${`${prefix}\u{10FFFF}`}`
}
