import { explainPath } from '@chancery/protocol'
import type { ExplainedPath, Instant, JsonObject } from '@chancery/protocol'
import { Transfer, etagOf } from '@chancery/service-kit'
import { serveDatabaseCalls } from '../../database/worker/answer-calls.ts'
import type { Database } from '../../database/database.ts'
import { type DocumentName, DocumentWriter } from './documents.ts'
import { acceptedBy, buildViews, findTrustIn, readGraphInput } from './views.ts'
import type {
  FindingWithDigest,
  GraphSummary,
  GraphViews,
  MaterialRequest,
  PathRequest,
  TrustRequest,
} from './views.ts'
import { findLostPaths } from '@chancery/protocol'
import type { LostPaths } from '@chancery/protocol'
import { type GraphPageData, outlineGraph } from './page-data.ts'
import type { TreatyTable } from './treaty-table.ts'

/** Facts of a version of the graph that need no search. */
export interface BuiltFacts {
  readonly summary: GraphSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
}

/** A body is transferred, not copied, with its ETag: hashing it would block the event loop. */
export interface WrittenDocument {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly etag: string
}

/**
 * Calls of the graph thread and their results. Searches use the newest graph, which is never older than the requested
 * one.
 */
export interface GraphAnswers {
  readonly build: {
    readonly argument: { readonly now: Instant; readonly own: string; readonly refused: ReadonlySet<string> }
    readonly answer: BuiltFacts
  }
  readonly document: { readonly argument: DocumentName; readonly answer: WrittenDocument }
  readonly materialPage: { readonly argument: MaterialRequest; readonly answer: JsonObject }
  readonly digest: { readonly argument: undefined; readonly answer: string }
  readonly trustPath: { readonly argument: PathRequest; readonly answer: ExplainedPath }
  readonly trustFinding: { readonly argument: TrustRequest; readonly answer: FindingWithDigest }
  readonly lostPaths: { readonly argument: string; readonly answer: LostPaths }
  readonly outline: { readonly argument: string; readonly answer: GraphPageData }
  readonly acceptedBy: { readonly argument: string; readonly answer: readonly string[] }
}

type Answered<Name extends keyof GraphAnswers> =
  | GraphAnswers[Name]['answer']
  | Promise<GraphAnswers[Name]['answer'] | Transfer>
type GraphOperations = {
  [Name in keyof GraphAnswers]: (argument: GraphAnswers[Name]['argument']) => Answered<Name>
}

/** Builds and searches large graphs in a separate thread, with its own connection. It only reads. */
serveDatabaseCalls(({ read: db }) => operationsOn(db))

function operationsOn(db: Database['read']): GraphOperations {
  let cached: { readonly views: GraphViews; readonly writer: DocumentWriter } | undefined
  const newest = (): NonNullable<typeof cached> => {
    if (cached === undefined) throw new Error('no graph was built yet')
    return cached
  }
  const edges = (): GraphViews['graph']['recognition_edges'] => newest().views.graph.recognition_edges
  return {
    async build({ now, own, refused }) {
      const views = buildViews(await readGraphInput(db, now, own, refused))
      cached = { views, writer: new DocumentWriter(db, views) }
      const { summary, treatyTable, staleAt } = views
      return { summary, treatyTable, staleAt }
    },
    async document(name) {
      const bytes = await newest().writer.write(name)
      return new Transfer({ bytes, etag: etagOf(bytes) } satisfies WrittenDocument, [bytes.buffer])
    },
    materialPage: (asked) => newest().writer.materialPage(asked),
    digest: () => newest().writer.digest(),
    trustPath({ from, to, reported }) {
      const { index, mixed } = newest().views
      return explainPath(index, reported ? mixed : undefined, from, to)
    },
    async trustFinding(asked) {
      const { views, writer } = newest()
      return { ...findTrustIn(views, asked), graph_digest: await writer.digest() }
    },
    lostPaths: (treaty_id) => findLostPaths(edges(), treaty_id),
    outline(words) {
      const { graph, reported } = newest().views
      return outlineGraph(graph, reported, words)
    },
    acceptedBy: (sovereign) => acceptedBy(edges(), sovereign),
  }
}
