import type { Database, Statement } from '../../../database/database.ts'

interface ExportRange {
  readonly after: number
  readonly limit: number
}

const READ_EXPORT: Statement<ExportRange, { readonly text: string | null }> = {
  name: 'export-evidence',
  isRead: true,
  postgres: {
    text: `select string_agg(line, E'\\n') || E'\\n' as text from (
      select line from evidence_entries
      where store_sequence > greatest($1::bigint, (select removed_through from evidence_head where id = 1))
      order by store_sequence limit $2::bigint) page`,
    values: ({ after, limit }) => [after, limit],
  },
  sqlite(prepare, { after, limit }) {
    const rows = prepare(
      `select line from evidence_entries
      where store_sequence > max(?, (select removed_through from evidence_head where id = 1))
      order by store_sequence limit ?`,
    ).all(after, limit) as unknown as { readonly line: string }[]
    return [{ text: rows.map((row) => `${row.line}\n`).join('') }]
  },
}

/**
 * Returns visible lines after a position in store order, each with its line feed, as one text. PostgreSQL joins them: a
 * thousand separate rows would cost several times as much to receive as to send on.
 */
export async function readExport(database: Pick<Database, 'run'>, range: ExportRange): Promise<string> {
  const [page] = await database.run(READ_EXPORT, range)
  return page?.text ?? ''
}
