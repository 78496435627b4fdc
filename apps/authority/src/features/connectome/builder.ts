import { Worker } from 'node:worker_threads'
import { SECURITY_HEADERS } from '@chancery/contract'
import { compareCodePoints, findTrustPath, isActiveEdge, toUtf8 } from '@chancery/protocol'
import type { ConnectomeSummary, Instant, RecognitionEdge, TrustPath } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { StoreUnavailable } from '../../store/database.ts'
import { readGraphInput } from './facts.ts'
import { findLostPaths } from './lost-paths.ts'
import type { LostPaths } from './lost-paths.ts'
import type { TreatyTable } from './treaty-table.ts'
import { buildViews } from './views.ts'
import type { BuiltReply, GraphReply, GraphRequest } from './worker-messages.ts'

/** One version of the graph, wherever its index lives. */
export interface BuiltGraph {
  readonly graph: KeptDocument
  readonly connectome: KeptDocument
  readonly atlas: KeptDocument
  readonly summary: ConnectomeSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
  /** False when the thread that holds its index is gone. */
  isAlive(): boolean
  trustPath(from: string, to: string): Promise<TrustPath>
  /** What ending one treaty would cut off. */
  lostPaths(treaty_id: string): Promise<LostPaths>
  /** Who recognises this sovereign now. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
}

/** Up to so many treaties and revocations a graph is built in milliseconds; a larger one gets a thread of its own. */
const INLINE_FACTS = 1000

export class GraphBuilder {
  #worker: GraphWorker | undefined

  async build(office: Office): Promise<BuiltGraph> {
    if ((await countFacts(office)) <= INLINE_FACTS) return buildInline(office)
    // A thread that died is replaced; those who waited for it were refused.
    if (this.#worker === undefined || this.#worker.isDead) this.#worker = new GraphWorker(office)
    return this.#worker.build(office.clock.now())
  }

  async close(): Promise<void> {
    await this.#worker?.close()
  }
}

async function countFacts(office: Office): Promise<number> {
  const { db } = office.store
  const counts = await Promise.all(
    (['recognition_treaties', 'imported_sovereign_revocations'] as const).map((table) =>
      db
        .selectFrom(
          db
            .selectFrom(table)
            .select('issuer_sovereign_id')
            .limit(INLINE_FACTS + 1)
            .as('some'),
        )
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirst(),
    ),
  )
  return counts.reduce((sum, row) => sum + Number(row?.count ?? 0), 0)
}

async function buildInline(office: Office): Promise<BuiltGraph> {
  const views = buildViews(await readGraphInput(office.store.db, office.clock.now()))
  return {
    graph: document(toUtf8(views.graphText)),
    connectome: document(toUtf8(views.connectomeText)),
    atlas: document(toUtf8(views.atlasText)),
    summary: views.summary,
    treatyTable: views.treatyTable,
    staleAt: views.staleAt,
    isAlive: () => true,
    trustPath: async (from, to) => findTrustPath(views.index, from, to),
    lostPaths: async (treaty_id) => findLostPaths(views.edges, treaty_id),
    acceptedBy: async (sovereign) => acceptedBy(views.edges, sovereign),
  }
}

export function acceptedBy(edges: readonly RecognitionEdge[], sovereign: string): readonly string[] {
  const active = edges.filter((edge) => edge.to === sovereign && isActiveEdge(edge))
  return [...new Set(active.map((edge) => edge.from))].sort(compareCodePoints)
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
  #dead = false

  get isDead(): boolean {
    return this.#dead
  }

  constructor(office: Office) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./graph-worker.${extension}`, import.meta.url), {
      workerData: { place: office.settings.storePlace },
      // The environment may hold the signing seed.
      env: {},
    })
    this.#worker.on('message', (reply: GraphReply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.kind === 'failed')
        waiting?.reject(reply.isStore ? new StoreUnavailable(reply.message) : new Error(reply.message))
      else waiting?.resolve(reply)
    })
    const fail = (error: Error): void => {
      this.#dead = true
      for (const waiting of this.#waiting.values()) waiting.reject(error)
      this.#waiting.clear()
    }
    this.#worker.on('error', fail)
    this.#worker.on('exit', () => fail(new StoreUnavailable('the graph thread ended')))
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
      treatyTable: built.treatyTable,
      staleAt: built.staleAt,
      isAlive: () => !this.#dead,
      trustPath: (from, to) => ask({ kind: 'trust-path', from, to }),
      lostPaths: (treaty_id) => ask({ kind: 'lost-paths', treaty_id }),
      acceptedBy: (sovereign) => ask({ kind: 'accepted-by', sovereign }),
    }
  }

  #ask(request: GraphRequest): Promise<GraphReply> {
    if (this.#dead) return Promise.reject(new StoreUnavailable('the graph thread ended'))
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
