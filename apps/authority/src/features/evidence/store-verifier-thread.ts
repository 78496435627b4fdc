import { workerData } from 'node:worker_threads'
import type { JsonObject, StoreReport } from '@chancery/protocol'
import { serveDatabaseCalls } from '../../database/worker/answer-calls.ts'
import type { DatabaseThreadData } from '../../database/worker/thread.ts'
import { type StoreIdentity, inspectLinks, inspectPrefix, inspectStore, inspectView } from './verify-store.ts'

export interface InspectionData extends DatabaseThreadData {
  readonly identity: StoreIdentity
}

/** Calls of the verifier thread. */
export type InspectionCalls = {
  store(argument: undefined): Promise<JsonObject>
  prefix(through: number): Promise<StoreReport>
  view(asked: { readonly lines: readonly string[]; readonly resource: string | undefined }): Promise<StoreReport>
  links(run: Parameters<typeof inspectLinks>[1]): ReturnType<typeof inspectLinks>
}

const { identity } = workerData as InspectionData

/** Verifies the store in a separate thread, with its own connection. It only reads. */
serveDatabaseCalls(({ read: db }): InspectionCalls => ({
  store: () => inspectStore(db, identity),
  prefix: (through) => inspectPrefix(db, identity, through),
  view: ({ lines, resource }) => inspectView(db, identity, lines, resource),
  links: (run) => inspectLinks(db, run),
}))
