import { workerData } from 'node:worker_threads'
import { type Operations, serveCalls } from '@chancery/service-kit'
import type { Database } from '../database.ts'
import { openExistingDatabase, translateDatabaseError } from '../open.ts'
import type { DatabaseThreadData } from './thread.ts'

/** The far side of a DatabaseThread: opens the database and answers from it. Operations only read, so they may overlap. */
export function serveDatabaseCalls(make: (database: Database) => Operations): void {
  const { place } = workerData as DatabaseThreadData
  const operations = make(openExistingDatabase(place))
  const translated = Object.entries(operations).map(([name, run]) => [name, translating(run)] as const)
  serveCalls(Object.fromEntries(translated), 'concurrent')
}

/** Errors lose their class on the way and keep their name: drivers' errors get the one the other side knows. */
function translating(run: Operations[string]): Operations[string] {
  return async (argument) => {
    try {
      return await run(argument)
    } catch (error) {
      throw translateDatabaseError(error) ?? error
    }
  }
}
