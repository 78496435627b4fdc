import { SECURITY_HEADERS } from '@chancery/contract'
import { countUpTo } from '../../database/large-tables.ts'
import { explainPath, findLostPaths } from '@chancery/protocol'
import type { ExplainedPath, Instant, JsonObject, LostPaths } from '@chancery/protocol'
import { CachedDocument } from '@chancery/service-kit'
import { DatabaseThread } from '../../database/worker/thread.ts'
import { type DocumentName, DocumentWriter } from './documents.ts'
import { acceptedBy, buildViews, findTrustIn, readGraphInput } from './views.ts'
import type { FindingWithDigest, GraphSummary, MaterialRequest, PathRequest, TrustRequest } from './views.ts'
import type { GraphAnswers } from './graph-thread.ts'
import { type GraphPageData, outlineGraph } from './page-data.ts'
import type { TreatyTable } from './treaty-table.ts'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface ConnectomeParts extends Pick<
  Core,
  'clock' | 'database' | 'network' | 'verifiedTreaties' | 'versions'
> {
  readonly settings: Pick<AuthoritySettings, 'databaseLocation'>
}

/** One version of the graph, with its index in this thread or in a worker. */
export interface BuiltGraph {
  /** Made at the first request, then cached. */
  document(name: DocumentName): Promise<CachedDocument>
  /** A page of revoked material. */
  materialPage(asked: MaterialRequest): Promise<JsonObject>
  /** H(C(graph)). */
  digest(): Promise<string>
  readonly summary: GraphSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
  /** False when the thread with its index has ended. */
  isAlive(): boolean
  trustPath(asked: PathRequest): Promise<ExplainedPath>
  /** Returns the finding about a sovereign in this version, with its digest. */
  trustFinding(asked: TrustRequest): Promise<FindingWithDigest>
  /** Returns the impact of ending one treaty. */
  lostPaths(treaty_id: string): Promise<LostPaths>
  /** Returns the page data, filtered to sovereigns whose name contains the words. */
  outline(words: string): Promise<GraphPageData>
  /** Returns the sovereigns that recognise this one now. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
}

/**
 * Up to this number of treaties and revocations, the graph is built on the event loop in milliseconds. A larger graph
 * gets a separate thread.
 */
const INLINE_FACTS = 1000

export class GraphBuilder {
  #thread: DatabaseThread | undefined

  /** Excludes treaties whose signature does not verify. */
  async build(parts: ConnectomeParts, refused: ReadonlySet<string>): Promise<BuiltGraph> {
    if ((await countFacts(parts)) <= INLINE_FACTS) return buildInline(parts, refused)
    // A dead thread is replaced. Its queued requests were refused.
    if (this.#thread === undefined || this.#thread.hasEnded)
      this.#thread = new DatabaseThread('./graph-thread', import.meta.url, { place: parts.settings.databaseLocation })
    return buildInThread(this.#thread, { now: parts.clock.now(), own: parts.network.name, refused })
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }
}

async function countFacts(parts: ConnectomeParts): Promise<number> {
  const db = parts.database.read
  const counts = await Promise.all(
    (['recognition_treaties', 'imported_sovereign_revocations', 'reported_treaties'] as const).map((table) =>
      countUpTo(db, db.selectFrom(table), INLINE_FACTS),
    ),
  )
  return counts.reduce<number>((sum, count) => sum + (count ?? INLINE_FACTS + 1), 0)
}

async function buildInline(parts: ConnectomeParts, refused: ReadonlySet<string>): Promise<BuiltGraph> {
  const views = buildViews(await readGraphInput(parts.database.read, parts.clock.now(), parts.network.name, refused))
  const { graph, index, mixed, summary, treatyTable, staleAt } = views
  const writer = new DocumentWriter(parts.database.read, views)
  return {
    summary,
    treatyTable,
    staleAt,
    document: keeping(async (name) => toDocument(await writer.write(name))),
    materialPage: async (asked) => writer.materialPage(asked),
    digest: () => writer.digest(),
    isAlive: () => true,
    trustPath: async ({ from, to, reported }) => explainPath(index, reported ? mixed : undefined, from, to),
    trustFinding: async (asked) => ({ ...findTrustIn(views, asked), graph_digest: await writer.digest() }),
    lostPaths: async (treaty_id) => findLostPaths(graph.recognition_edges, treaty_id),
    outline: cachingWhole(async (words) => outlineGraph(graph, views.reported, words)),
    acceptedBy: async (sovereign) => acceptedBy(graph.recognition_edges, sovereign),
  }
}

/** Shares one build among all callers. A failed build is not cached. */
function keeping<Name extends string, Value>(make: (name: Name) => Promise<Value>): (name: Name) => Promise<Value> {
  const cached = new Map<Name, Promise<Value>>()
  return (name) => {
    const present = cached.get(name)
    if (present !== undefined) return present
    const made = make(name)
    cached.set(name, made)
    made.catch(() => cached.delete(name))
    return made
  }
}

/** Most requests are for the whole graph, so only that page data is cached. */
function cachingWhole(make: (words: string) => Promise<GraphPageData>): (words: string) => Promise<GraphPageData> {
  const whole = keeping<'', GraphPageData>(make)
  return (words) => (words === '' ? whole('') : make(words))
}

/** Views are derived from stored records and grant nothing. They have an ETag, and caches must not store them. */
function toDocument(bytes: Uint8Array, etag?: string): CachedDocument {
  return new CachedDocument(bytes, SECURITY_HEADERS['Cache-Control'], undefined, etag)
}

/** A graph with its index in a worker thread. */
async function buildInThread(thread: DatabaseThread, built: GraphAnswers['build']['argument']): Promise<BuiltGraph> {
  const ask = <Name extends keyof GraphAnswers>(
    name: Name,
    argument: GraphAnswers[Name]['argument'],
  ): Promise<GraphAnswers[Name]['answer']> => thread.call(name, argument)
  return {
    ...(await ask('build', built)),
    document: keeping(async (name) => {
      const { bytes, etag } = await ask('document', name)
      return toDocument(bytes, etag)
    }),
    materialPage: (asked) => ask('materialPage', asked),
    digest: () => ask('digest', undefined),
    isAlive: () => !thread.hasEnded,
    trustPath: (asked) => ask('trustPath', asked),
    trustFinding: (asked) => ask('trustFinding', asked),
    lostPaths: (treaty_id) => ask('lostPaths', treaty_id),
    outline: cachingWhole((words) => ask('outline', words)),
    acceptedBy: (sovereign) => ask('acceptedBy', sovereign),
  }
}
