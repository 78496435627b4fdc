import { parentPort, workerData } from 'node:worker_threads'
import { findTrustPath } from '@chancery/protocol'
import { etagOf } from '@chancery/service-kit'
import { openStore, translateStoreError } from '../../store/open.ts'
import type { StorePlace } from '../../store/open.ts'
import { acceptedBy } from './builder.ts'
import { DocumentWriter } from './documents.ts'
import { readGraphInput } from './facts.ts'
import { findLostPaths } from './lost-paths.ts'
import { outlineGraph } from './outline.ts'
import { buildViews, findTrustIn } from './views.ts'
import type { GraphViews } from './views.ts'
import type { GraphReply, GraphRequest } from './worker-messages.ts'

/** Builds and searches large graphs beside the event loop, on a connection of its own; it only reads. */
const { place } = workerData as { place: StorePlace }
const store = openStore(place)
let held: Held | undefined

type Reply = { readonly reply: GraphReply; readonly moved: ArrayBuffer[] }

async function answer(id: number, request: GraphRequest): Promise<Reply> {
  if (request.kind === 'build') {
    const views = buildViews(await readGraphInput(store.db, request.now))
    held = { views, writer: new DocumentWriter(store.db, views.graph) }
    const { summary, treatyTable, staleAt } = views
    return { reply: { kind: 'built', id, summary, treatyTable, staleAt }, moved: [] }
  }
  if (held === undefined) throw new Error('no graph was built yet')
  if (request.kind === 'document') {
    const bytes = await held.writer.write(request.name)
    return { reply: { kind: 'answer', id, value: { bytes, etag: etagOf(bytes) } }, moved: [bytes.buffer] }
  }
  return { reply: { kind: 'answer', id, value: await search(held, request) }, moved: [] }
}

type Held = { readonly views: GraphViews; readonly writer: DocumentWriter }
type Search = Exclude<GraphRequest, { kind: 'build' | 'document' }>

async function search({ views, writer }: Held, request: Search): Promise<unknown> {
  const { graph, index } = views
  switch (request.kind) {
    case 'digest':
      return writer.digest()
    case 'trust-path':
      return findTrustPath(index, request.from, request.to)
    case 'trust-finding':
      return { finding: findTrustIn(views, request), graph_digest: await writer.digest() }
    case 'lost-paths':
      return findLostPaths(graph.recognition_edges, request.treaty_id)
    case 'outline':
      return outlineGraph(graph, request.words)
    case 'accepted-by':
      return acceptedBy(graph.recognition_edges, request.sovereign)
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
