import type { Database, Query } from '../database/database.ts'

/** Returns every table for reading and writing, outside `write`: for tests that prepare or damage rows. */
export function rowsOf(database: Pick<Database, 'read'>): Query {
  return database.read as Query
}
