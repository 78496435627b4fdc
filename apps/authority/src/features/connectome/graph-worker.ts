import { parentPort, workerData } from 'node:worker_threads'
import { findTrustPath, toUtf8 } from '@chancery/protocol'
import { openStore, translateStoreError } from '../../store/open.ts'
import type { StorePlace } from '../../store/open.ts'
import { acceptedBy } from './builder.ts'
import { readGraphInput } from './facts.ts'
import { findLostPaths } from './lost-paths.ts'
import { buildViews } from './views.ts'
import type { GraphViews } from './views.ts'
import type { GraphReply, GraphRequest } from './worker-messages.ts'

/** Builds and searches large graphs beside the event loop, on a connection of its own; it only reads. */
const { place } = workerData as { place: StorePlace }
const store = openStore(place)
let views: GraphViews | undefined

async function answer(id: number, request: GraphRequest): Promise<{ reply: GraphReply; moved: ArrayBuffer[] }> {
  if (request.kind === 'build') {
    views = buildViews(await readGraphInput(store.db, request.now))
    const [graph, connectome, atlas] = [toUtf8(views.graphText), toUtf8(views.connectomeText), toUtf8(views.atlasText)]
    const { summary, treatyTable, staleAt } = views
    const reply = { kind: 'built', id, graph, connectome, atlas, summary, treatyTable, staleAt } as const
    return { reply, moved: [graph.buffer, connectome.buffer, atlas.buffer] }
  }
  if (views === undefined) throw new Error('no graph was built yet')
  return { reply: { kind: 'answer', id, value: search(views, request) }, moved: [] }
}

function search(built: GraphViews, request: Exclude<GraphRequest, { kind: 'build' }>): unknown {
  switch (request.kind) {
    case 'trust-path':
      return findTrustPath(built.index, request.from, request.to)
    case 'lost-paths':
      return findLostPaths(built.edges, request.treaty_id)
    case 'accepted-by':
      return acceptedBy(built.edges, request.sovereign)
  }
}

parentPort?.on('message', (message: GraphRequest & { id: number }) => {
  answer(message.id, message)
    .then(({ reply, moved }) => parentPort?.postMessage(reply, moved))
    .catch((error: unknown) => parentPort?.postMessage(toFailure(message.id, error)))
})

/** Errors lose their class on the way; what matters is whether the database could not answer. */
function toFailure(id: number, error: unknown): GraphReply {
  return {
    kind: 'failed',
    id,
    message: error instanceof Error ? error.name : 'Error',
    isStore: translateStoreError(error) !== undefined,
  }
}
