import { sql } from 'kysely'
import type { Reader } from './database.ts'

export async function countRows(db: Reader, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
