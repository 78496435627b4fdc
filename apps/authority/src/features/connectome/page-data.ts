import { compareEdges, isActiveEdge, isWithdrawn, listBlastRadius, sortMaterial } from '@chancery/protocol'
import type { RecognitionEdge, RecognitionGraph, ReportedEdge } from '@chancery/protocol'
import { addReported } from './reported.ts'

export type SovereignRow = {
  readonly sovereign_id: string
  /** Number of active treaties it issued, and of active treaties that name it. */
  readonly recognises: number
  readonly recognised_by: number
}

export type BlastRow = {
  readonly id: string
  readonly issuer_sovereign_id: string
  readonly affected_accepting_sovereigns: readonly string[]
  /** Those known only by the report of a partner. */
  readonly reported_accepting_sovereigns: readonly string[]
  readonly reason: string | null
  readonly revoked_at: string
}

/** The part of the graph that a page shows, with totals. Rows are in the order of /connectome.json. */
export type GraphPageData = {
  readonly sovereigns: readonly SovereignRow[]
  readonly sovereign_count: number
  readonly edges: readonly RecognitionEdge[]
  readonly edge_count: number
  /** What partners report. */
  readonly reported_edges: readonly ReportedEdge[]
  readonly reported_edge_count: number
  readonly blast_radius: readonly BlastRow[]
  readonly blast_count: number
}

const MAX_SOVEREIGNS = 300
const MAX_EDGES = 500
const MAX_BLASTS = 100

/** Sovereigns whose name contains the words, and every treaty that names one of them. No words select all. */
export function outlineGraph(
  graph: RecognitionGraph<string>,
  reported: readonly ReportedEdge[],
  words: string,
): GraphPageData {
  const wanted = words.toLowerCase()
  const fits = (id: string): boolean => id.toLowerCase().includes(wanted)
  const counts = countRecognition(graph.recognition_edges)
  const sovereigns = graph.sovereigns.filter(({ sovereign_id }) => fits(sovereign_id))
  const edges = graph.recognition_edges.filter((edge) => fits(edge.from) || fits(edge.to))
  const reportedEdges = reported.filter((edge) => fits(edge.from) || fits(edge.to))
  const revoked = graph.revoked_trust_material.filter(isWithdrawn).filter((row) => fits(row.issuer_sovereign_id))
  return {
    sovereigns: sovereigns
      .slice(0, MAX_SOVEREIGNS)
      .map(({ sovereign_id }) => ({ sovereign_id, ...(counts.get(sovereign_id) ?? NONE) })),
    sovereign_count: sovereigns.length,
    edges: edges.sort(compareEdges).slice(0, MAX_EDGES),
    edge_count: edges.length,
    reported_edges: reportedEdges.sort(compareEdges).slice(0, MAX_EDGES),
    reported_edge_count: reportedEdges.length,
    blast_radius: addReported(listBlastRadius(graph, sortMaterial(revoked).slice(0, MAX_BLASTS)), reported),
    blast_count: revoked.length,
  }
}

const NONE = { recognises: 0, recognised_by: 0 }

function countRecognition(
  edges: readonly RecognitionEdge[],
): ReadonlyMap<string, { recognises: number; recognised_by: number }> {
  const counts = new Map<string, { recognises: number; recognised_by: number }>()
  const of = (id: string): { recognises: number; recognised_by: number } => {
    const found = counts.get(id) ?? { ...NONE }
    counts.set(id, found)
    return found
  }
  for (const edge of edges) {
    if (!isActiveEdge(edge)) continue
    of(edge.from).recognises += 1
    of(edge.to).recognised_by += 1
  }
  return counts
}
