import pg from 'pg'

/** SQLite's extended codes for a primary key and for another unique index. */
const SQLITE_CODES: readonly unknown[] = [1555, 2067]

/** True when a unique key refused a row: of two writers, the other one was first. */
export function isUniqueViolation(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '23505'
  return error instanceof Error && 'errcode' in error && SQLITE_CODES.includes(error.errcode)
}
