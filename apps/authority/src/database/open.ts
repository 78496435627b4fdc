import { describeChain } from '@chancery/service-kit'
import { DatabaseUnavailableError, DiskFullError, LockTimeoutError, UnknownOutcomeError } from './errors.ts'
import type { Database } from './database.ts'
import { type Pooler, openPostgres, translatePostgresError } from './postgres/open.ts'
import { openExistingSqlite, openSqlite, translateSqliteError } from './sqlite/open.ts'

/** Where the data lives, as the settings say. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly pooler?: Pooler }

export function openDatabase(place: DatabaseLocation): Database {
  return place.kind === 'sqlite' ? openSqlite(place.path) : openPostgres(place.url, place.pooler)
}

/** Opens a database for reading commands. A missing database is not created: another user would own the file. */
export function openExistingDatabase(place: DatabaseLocation): Database {
  return place.kind === 'sqlite' ? openExistingSqlite(place.path) : openPostgres(place.url, place.pooler)
}

/** Database failures as DatabaseUnavailableError or LockTimeoutError, whatever driver they come from; undefined for bugs. */
export function translateDatabaseError(error: unknown): Error | undefined {
  if (error instanceof DatabaseUnavailableError || error instanceof LockTimeoutError) return error
  return translateSqliteError(error) ?? translatePostgresError(error)
}

/** Whether the database failed and still does. A failure while it answers others has another cause. */
export async function isDatabaseAway(error: unknown, database: Pick<Database, 'checkWritable'>): Promise<boolean> {
  const translated = error instanceof UnknownOutcomeError ? error : translateDatabaseError(error)
  if (translated === undefined || translated instanceof DiskFullError) return false
  return database.checkWritable().then(
    () => false,
    () => true,
  )
}

/** What the driver, the server or the system said about a failure of the database, for operators; undefined for bugs. */
export function explainDatabaseError(error: unknown): string | undefined {
  const translated = translateDatabaseError(error)
  return translated && describeChain(translated)
}
