import { Worker } from 'node:worker_threads'
import { SECURITY_HEADERS } from '@chancery/contract'
import { findTrustPath, toUtf8 } from '@chancery/protocol'
import type { ConnectomeSummary, Instant, RecognitionEdge, TrustPath } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { readGraphInput } from './facts.ts'
import { findLostPaths } from './lost-paths.ts'
import type { LostPaths } from './lost-paths.ts'
import { buildViews } from './views.ts'
import type { BuiltReply, GraphReply, GraphRequest } from './worker-messages.ts'

/** One version of the graph, wherever its index lives. */
export interface BuiltGraph {
  readonly graph: KeptDocument
  readonly connectome: KeptDocument
  readonly atlas: KeptDocument
  readonly summary: ConnectomeSummary
  readonly staleAt: Instant | undefined
  trustPath(from: string, to: string): Promise<TrustPath>
  /** What ending one treaty would cut off. */
  lostPaths(treaty_id: string): Promise<LostPaths>
  /** Who recognises this sovereign now. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
}

/** Up to here a graph is built in milliseconds; a larger one is built and searched in a thread of its own. */
const INLINE_TREATIES = 1000

export class GraphBuilder {
  #worker: GraphWorker | undefined

  async build(office: Office): Promise<BuiltGraph> {
    const row = await office.store.db
      .selectFrom('recognition_treaties')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirst()
    if (Number(row?.count ?? 0) <= INLINE_TREATIES) return buildInline(office)
    this.#worker ??= new GraphWorker(office)
    return this.#worker.build(office.clock.now())
  }

  async close(): Promise<void> {
    await this.#worker?.close()
  }
}

async function buildInline(office: Office): Promise<BuiltGraph> {
  const views = buildViews(await readGraphInput(office.store.db, office.clock.now()))
  return {
    graph: document(toUtf8(views.graphText)),
    connectome: document(toUtf8(views.connectomeText)),
    atlas: document(toUtf8(views.atlasText)),
    summary: views.summary,
    staleAt: views.staleAt,
    trustPath: async (from, to) => findTrustPath(views.index, from, to),
    lostPaths: async (treaty_id) => findLostPaths(views.edges, treaty_id),
    acceptedBy: async (sovereign) => acceptedBy(views.edges, sovereign),
  }
}

export function acceptedBy(edges: readonly RecognitionEdge[], sovereign: string): readonly string[] {
  const active = edges.filter(
    (edge) =>
      edge.to === sovereign && edge.status === 'active' && ['active', 'expiring_soon'].includes(edge.lifecycle_state),
  )
  return [...new Set(active.map((edge) => edge.from))].sort()
}

/** Views derive from stored records and grant nothing: they carry an ETag and are not stored by caches. */
function document(bytes: Uint8Array): KeptDocument {
  return new KeptDocument(bytes, SECURITY_HEADERS['Cache-Control'])
}

/** The thread with its own connection; it answers in order of asking. */
class GraphWorker {
  readonly #worker: Worker
  readonly #waiting = new Map<number, { resolve: (reply: GraphReply) => void; reject: (error: Error) => void }>()
  #count = 0

  constructor(office: Office) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./graph-worker.${extension}`, import.meta.url), {
      workerData: { place: office.settings.storePlace },
    })
    this.#worker.on('message', (reply: GraphReply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.kind === 'failed') waiting?.reject(new Error(reply.message))
      else waiting?.resolve(reply)
    })
    const fail = (error: Error): void => {
      for (const waiting of this.#waiting.values()) waiting.reject(error)
      this.#waiting.clear()
    }
    this.#worker.on('error', fail)
    this.#worker.on('exit', () => fail(new Error('the graph thread ended')))
  }

  async build(now: Instant): Promise<BuiltGraph> {
    const built = (await this.#ask({ kind: 'build', now })) as BuiltReply
    const ask = async <Value>(request: GraphRequest): Promise<Value> => {
      const reply = await this.#ask(request)
      if (reply.kind !== 'answer') throw new Error('the graph thread gave another answer')
      return reply.value as Value
    }
    return {
      graph: document(built.graph),
      connectome: document(built.connectome),
      atlas: document(built.atlas),
      summary: built.summary,
      staleAt: built.staleAt,
      trustPath: (from, to) => ask({ kind: 'trust-path', from, to }),
      lostPaths: (treaty_id) => ask({ kind: 'lost-paths', treaty_id }),
      acceptedBy: (sovereign) => ask({ kind: 'accepted-by', sovereign }),
    }
  }

  #ask(request: GraphRequest): Promise<GraphReply> {
    this.#count += 1
    const id = this.#count
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, ...request })
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
