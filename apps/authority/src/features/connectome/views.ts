import { buildGraph, indexEdges, nextBoundary, summarize } from '@chancery/protocol'
import type {
  ConnectomeSummary,
  ImportedRevocation,
  Instant,
  RecognitionGraph,
  TreatyFact,
  TrustIndex,
} from '@chancery/protocol'
import { buildTreatyTable } from './treaty-table.ts'
import type { TreatyTable } from './treaty-table.ts'

/** Everything the graph is made of, without the signed texts: they are many times larger and few ask for them. */
export interface GraphInput {
  readonly treaties: readonly TreatyFact[]
  readonly revocations: readonly ImportedRevocation[]
  readonly now: Instant
}

/** The graph with ids where its documents have signed treaties, and what is derived from it. */
export interface GraphViews {
  readonly graph: RecognitionGraph<string>
  readonly summary: ConnectomeSummary
  readonly index: TrustIndex
  readonly treatyTable: TreatyTable
  /** When a lifecycle state or risk next changes by itself. */
  readonly staleAt: Instant | undefined
}

/** Pure: the same facts at the same time give the same views on every instance. */
export function buildViews(input: GraphInput): GraphViews {
  const graph = buildGraph({ ...input, signedTreaty: (treaty_id) => treaty_id })
  return {
    graph,
    summary: summarize(graph),
    index: indexEdges(graph.recognition_edges),
    treatyTable: buildTreatyTable(input.treaties, input.now),
    staleAt: firstBoundary(input.treaties, input.now),
  }
}

export function firstBoundary(treaties: readonly TreatyFact[], now: Instant): Instant | undefined {
  let first: Instant | undefined
  for (const treaty of treaties) {
    const at = nextBoundary(treaty, now)
    if (at !== undefined && (first === undefined || at < first)) first = at
  }
  return first
}
