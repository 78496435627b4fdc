import { LockTimeout, StoreUnavailable } from './database.ts'
import type { Store } from './database.ts'
import { openPostgres, translatePostgresError } from './postgres.ts'
import { openKeptSqlite, openSqlite, translateSqliteError } from './sqlite.ts'

/** Where the data lives, as the settings say. */
export type StorePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

export function openStore(place: StorePlace): Store {
  return place.kind === 'sqlite' ? openSqlite(place.path) : openPostgres(place.url)
}

/** The same for whoever only looks: a database that is not there is not made, least of all by another user. */
export function openKeptStore(place: StorePlace): Store {
  return place.kind === 'sqlite' ? openKeptSqlite(place.path) : openPostgres(place.url)
}

/** Database failures as StoreUnavailable or LockTimeout, whatever driver they come from; undefined for bugs. */
export function translateStoreError(error: unknown): Error | undefined {
  if (error instanceof StoreUnavailable || error instanceof LockTimeout) return error
  return translateSqliteError(error) ?? translatePostgresError(error)
}
