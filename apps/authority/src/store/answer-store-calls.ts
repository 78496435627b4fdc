import { workerData } from 'node:worker_threads'
import { answerCalls } from '@chancery/service-kit'
import type { Operations } from '@chancery/service-kit'
import type { Store } from './database.ts'
import { openKeptStore, translateStoreError } from './open.ts'
import type { StoreThreadData } from './store-thread.ts'

/** The far side of a StoreThread: opens the database and answers from it. Operations only read, so they may overlap. */
export function answerStoreCalls(make: (store: Store) => Operations): void {
  const { place } = workerData as StoreThreadData
  const operations = make(openKeptStore(place))
  const translated = Object.entries(operations).map(([name, run]) => [name, translating(run)] as const)
  answerCalls(Object.fromEntries(translated), 'at once')
}

/** Errors lose their class on the way and keep their name: drivers' errors get the one the other side knows. */
function translating(run: Operations[string]): Operations[string] {
  return async (argument) => {
    try {
      return await run(argument)
    } catch (error) {
      throw translateStoreError(error) ?? error
    }
  }
}
