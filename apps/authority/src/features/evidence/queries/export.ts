import type { Database } from '../../../database/database.ts'
import { readEvidenceHead } from './chain.ts'
import { readLines } from './entries.ts'

/**
 * Visible lines behind a place in store order, each with its line feed, as one text. PostgreSQL puts it together: a
 * thousand rows of their own would cost several times as much to receive as to send on.
 */
export async function readExport(
  database: Database,
  run: { readonly after: number; readonly limit: number },
): Promise<string> {
  if (database.native.kind === 'postgres') {
    const rows = await database.native.run<{ text: string | null }>(
      'export-evidence',
      `select string_agg(line, E'\\n') || E'\\n' as text from (
        select line from evidence_entries
        where store_sequence > greatest($1::bigint, (select removed_through from evidence_head where id = 1))
        order by store_sequence limit $2::bigint) page`,
      [run.after, run.limit],
    )
    return rows[0]?.text ?? ''
  }
  const { removed_through } = await readEvidenceHead(database.read)
  const rows = await readLines(database.read, { ...run, after: Math.max(run.after, removed_through) })
  return rows.map((row) => `${row.line}\n`).join('')
}
