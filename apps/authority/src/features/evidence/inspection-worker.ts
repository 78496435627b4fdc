import { workerData } from 'node:worker_threads'
import type { JsonObject, StoreReport } from '@chancery/protocol'
import { answerStoreCalls } from '../../store/answer-store-calls.ts'
import type { StoreThreadData } from '../../store/store-thread.ts'
import { inspectLinks, inspectPrefix, inspectStore, inspectView } from './inspection.ts'
import type { StoreIdentity } from './inspection.ts'

export interface InspectionData extends StoreThreadData {
  readonly identity: StoreIdentity
}

/** What may be asked of the inspecting thread. */
export type InspectionCalls = {
  store(argument: undefined): Promise<JsonObject>
  prefix(through: number): Promise<StoreReport>
  view(asked: { readonly lines: readonly string[]; readonly resource: string | undefined }): Promise<StoreReport>
  links(run: Parameters<typeof inspectLinks>[1]): ReturnType<typeof inspectLinks>
}

const { identity } = workerData as InspectionData

/** Inspects the store beside the event loop, on a connection of its own; it only reads. */
answerStoreCalls(({ db }): InspectionCalls => ({
  store: () => inspectStore(db, identity),
  prefix: (through) => inspectPrefix(db, identity, through),
  view: ({ lines, resource }) => inspectView(db, identity, lines, resource),
  links: (run) => inspectLinks(db, run),
}))
