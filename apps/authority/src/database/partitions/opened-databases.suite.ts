import { type TestDatabase, createMigratedDatabase } from '@chancery/testkit'
import { afterEach } from 'vitest'
import type { Database } from '../database.ts'
import { locationOf } from '../database.suite.ts'
import { openDatabase } from '../open.ts'

export interface OpenedDatabases {
  /** Runs after the test, the last one first. */
  readonly atEnd: (undo: () => Promise<unknown>) => void
  /** Opens a database, which is closed after the test. */
  readonly open: (place: TestDatabase, pooler?: 'none' | 'transaction') => Promise<Database>
  /** Opens a new store, which is removed after the test. */
  readonly openNew: () => Promise<Database>
}

/** For the top of a test file. */
export function useOpenedDatabases(): OpenedDatabases {
  const undoes: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const undo of undoes.splice(0).toReversed()) await undo()
  })
  const atEnd = (undo: () => Promise<unknown>): void => void undoes.push(undo)
  const open: OpenedDatabases['open'] = async (place, pooler = 'none') => {
    const location = locationOf(place)
    const database = openDatabase(location.kind === 'postgres' ? { ...location, pooler } : location)
    atEnd(() => database.close())
    return database
  }
  const openNew = async (): Promise<Database> => {
    const place = await createMigratedDatabase()
    atEnd(() => place.drop())
    return open(place)
  }
  return { atEnd, open, openNew }
}
