import { Worker } from 'node:worker_threads'
import { SECURITY_HEADERS } from '@chancery/contract'
import { compareCodePoints, findTrustPath, isActiveEdge } from '@chancery/protocol'
import type { ConnectomeSummary, Instant, RecognitionEdge, TrustFinding, TrustPath } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { StoreUnavailable } from '../../store/database.ts'
import { DocumentWriter } from './documents.ts'
import type { DocumentName } from './documents.ts'
import { readGraphInput } from './facts.ts'
import { findLostPaths } from './lost-paths.ts'
import type { LostPaths } from './lost-paths.ts'
import { outlineGraph } from './outline.ts'
import type { GraphOutline } from './outline.ts'
import type { TreatyTable } from './treaty-table.ts'
import { buildViews, findTrustIn } from './views.ts'
import type { AskedTrust } from './views.ts'
import type { BuiltReply, GraphReply, GraphRequest, WrittenDocument } from './worker-messages.ts'

/** One version of the graph, wherever its index lives. */
export interface BuiltGraph {
  /** Made when first asked for, then kept. */
  document(name: DocumentName): Promise<KeptDocument>
  /** H(C(graph)). */
  digest(): Promise<string>
  readonly summary: ConnectomeSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
  /** False when the thread that holds its index is gone. */
  isAlive(): boolean
  trustPath(from: string, to: string): Promise<TrustPath>
  /** What this version says about a sovereign, with its digest. */
  trustFinding(asked: AskedTrust): Promise<GroundedFinding>
  /** What ending one treaty would cut off. */
  lostPaths(treaty_id: string): Promise<LostPaths>
  /** What a page shows of it, narrowed to sovereigns whose name contains the words. */
  outline(words: string): Promise<GraphOutline>
  /** Who recognises this sovereign now. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
}

/** A finding and the graph it rests on: both of one version. */
export interface GroundedFinding {
  readonly finding: TrustFinding
  readonly graph_digest: string
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
  const { graph, index, ...plain } = views
  const writer = new DocumentWriter(office.store.db, graph)
  return {
    ...plain,
    document: keeping(async (name) => toDocument(await writer.write(name))),
    digest: () => writer.digest(),
    isAlive: () => true,
    trustPath: async (from, to) => findTrustPath(index, from, to),
    trustFinding: async (asked) => ({ finding: findTrustIn(views, asked), graph_digest: await writer.digest() }),
    lostPaths: async (treaty_id) => findLostPaths(graph.recognition_edges, treaty_id),
    outline: keepingWhole(async (words) => outlineGraph(graph, words)),
    acceptedBy: async (sovereign) => acceptedBy(graph.recognition_edges, sovereign),
  }
}

export function acceptedBy(edges: readonly RecognitionEdge[], sovereign: string): readonly string[] {
  const active = edges.filter((edge) => edge.to === sovereign && isActiveEdge(edge))
  return [...new Set(active.map((edge) => edge.from))].sort(compareCodePoints)
}

/** One making for all who ask; one that failed is not kept. */
function keeping<Name extends string, Value>(make: (name: Name) => Promise<Value>): (name: Name) => Promise<Value> {
  const kept = new Map<Name, Promise<Value>>()
  return (name) => {
    const present = kept.get(name)
    if (present !== undefined) return present
    const made = make(name)
    kept.set(name, made)
    made.catch(() => kept.delete(name))
    return made
  }
}

/** The outline of the whole graph is what most readers ask for; searches are many and not kept. */
function keepingWhole(make: (words: string) => Promise<GraphOutline>): (words: string) => Promise<GraphOutline> {
  const whole = keeping<'', GraphOutline>(make)
  return (words) => (words === '' ? whole('') : make(words))
}

/** Views derive from stored records and grant nothing: they carry an ETag and are not stored by caches. */
function toDocument(bytes: Uint8Array, etag?: string): KeptDocument {
  return new KeptDocument(bytes, SECURITY_HEADERS['Cache-Control'], undefined, etag)
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
    const { summary, treatyTable, staleAt } = built
    return {
      summary,
      treatyTable,
      staleAt,
      document: keeping(async (name) => {
        const { bytes, etag } = await ask<WrittenDocument>({ kind: 'document', name })
        return toDocument(bytes, etag)
      }),
      digest: () => ask({ kind: 'digest' }),
      isAlive: () => !this.#dead,
      trustPath: (from, to) => ask({ kind: 'trust-path', from, to }),
      trustFinding: (asked) => ask({ kind: 'trust-finding', ...asked }),
      lostPaths: (treaty_id) => ask({ kind: 'lost-paths', treaty_id }),
      outline: keepingWhole((words) => ask({ kind: 'outline', words })),
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
