import { parentPort, workerData } from 'node:worker_threads'
import { openStore, translateStoreError } from '../../store/open.ts'
import type { StorePlace } from '../../store/open.ts'
import { inspectLinks, inspectPrefix, inspectStore, inspectView } from './inspection.ts'
import type { StoreIdentity } from './inspection.ts'
import type { InspectionReply, InspectionRequest } from './inspection-messages.ts'

/** Inspects the store beside the event loop, on a connection of its own; it only reads. */
const { place, identity } = workerData as { place: StorePlace; identity: StoreIdentity }
const { db } = openStore(place)

function inspect(request: InspectionRequest): Promise<unknown> {
  switch (request.kind) {
    case 'store':
      return inspectStore(db, identity)
    case 'prefix':
      return inspectPrefix(db, identity, request.through)
    case 'view':
      return inspectView(db, identity, request.lines, request.resource)
    case 'links':
      return inspectLinks(db, request.run)
  }
}

/** Errors lose their class on the way; what matters is whether the database could not answer. */
function toFailure(id: number, error: unknown): InspectionReply {
  const message = error instanceof Error ? error.name : 'Error'
  return { kind: 'failed', id, message, isStore: translateStoreError(error) !== undefined }
}

parentPort?.on('message', (message: InspectionRequest & { id: number }) => {
  inspect(message)
    .then((value): InspectionReply => ({ kind: 'done', id: message.id, value }))
    .catch((error: unknown) => toFailure(message.id, error))
    .then((reply) => parentPort?.postMessage(reply))
    .catch(() => undefined)
})
