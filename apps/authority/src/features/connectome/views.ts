import {
  buildConnectome,
  buildGraph,
  digestOf,
  indexEdges,
  nextBoundary,
  summarize,
  writeJson,
} from '@chancery/protocol'
import type {
  ConnectomeSummary,
  ImportedRevocation,
  Instant,
  JsonValue,
  RecognitionEdge,
  TreatyFact,
  TrustIndex,
} from '@chancery/protocol'
import { buildTreatyTable } from './treaty-table.ts'
import type { TreatyTable } from './treaty-table.ts'

/** Everything the views are made of, read in one go. */
export interface GraphInput {
  readonly treaties: readonly TreatyFact[]
  readonly revocations: readonly ImportedRevocation[]
  /** Signed texts of unrevoked treaties, by id. */
  readonly texts: ReadonlyMap<string, JsonValue>
  readonly now: Instant
}

/** The bodies of the three documents, and what else is derived from the same graph. */
export interface GraphViews {
  readonly graphText: string
  readonly connectomeText: string
  readonly atlasText: string
  readonly summary: ConnectomeSummary
  readonly edges: readonly RecognitionEdge[]
  readonly index: TrustIndex
  readonly treatyTable: TreatyTable
  /** When a lifecycle state or risk next changes by itself. */
  readonly staleAt: Instant | undefined
}

/** Pure: the same facts at the same time give the same bytes on every instance. */
export function buildViews(input: GraphInput): GraphViews {
  const graph = buildGraph({ ...input, signedTreaty: (id) => input.texts.get(id) ?? null })
  const atlas = {
    sovereigns: graph.sovereigns,
    recognition_edges: graph.recognition_edges,
    active_treaty_count: graph.active_treaties.length,
    revoked_trust_material_count: graph.revoked_trust_material.length,
    graph_digest: digestOf(graph),
  }
  return {
    graphText: writeJson(graph),
    connectomeText: writeJson(buildConnectome(graph)),
    atlasText: writeJson(atlas),
    summary: summarize(graph),
    edges: graph.recognition_edges,
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
