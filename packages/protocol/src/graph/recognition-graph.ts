import { compareCodePoints } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { isActiveState, treatyLifecycle } from './lifecycle.ts'
import { type EndedTreaty, type RevokedMaterial, type WithdrawnAttestation, sortMaterial } from './material-page.ts'
import type { ExpiryRisk, LifecycleState, TreatyRecordState } from './lifecycle.ts'

/** A stored treaty as the graph needs it; `treaty` is the signed record, needed only where it is shown. */
export interface TreatyFact extends TreatyRecordState {
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
  readonly valid_from: string
}

export interface ImportedRevocation {
  readonly issuer_sovereign_id: string
  readonly attestation_id: string
  readonly feed_id: string
  readonly sequence: number
  readonly reason: string | null
  readonly imported_at: string
}

/** One treaty as an edge: both parties and its state (protocol/core 20.1). */
export type RecognitionEdge = {
  readonly from: string
  readonly to: string
  readonly treaty_id: string
  readonly status: string
  readonly lifecycle_state: LifecycleState
  readonly expiry_risk: ExpiryRisk
  readonly valid_from: string
  readonly expires_at: string
}

export function toEdge(fact: TreatyFact, now: Instant): RecognitionEdge {
  const { state, expiry_risk } = treatyLifecycle(fact, now)
  return {
    from: fact.issuer_sovereign_id,
    to: fact.subject_sovereign_id,
    treaty_id: fact.treaty_id,
    status: fact.status,
    lifecycle_state: state,
    expiry_risk,
    valid_from: fact.valid_from,
    expires_at: fact.expires_at,
  }
}

/** Counts for trust: stored as active, and neither over nor withdrawn. */
export function isActiveEdge(edge: RecognitionEdge): boolean {
  return edge.status === 'active' && isActiveState(edge.lifecycle_state)
}

export function isRevokedEdge(edge: RecognitionEdge): boolean {
  return edge.status === 'revoked' || edge.lifecycle_state === 'revoked' || edge.lifecycle_state === 'replaced'
}

/** Edges in the order of the connectome and of the path search. */
export function compareEdges(a: RecognitionEdge, b: RecognitionEdge): number {
  return (
    compareCodePoints(a.from, b.from) || compareCodePoints(a.to, b.to) || compareCodePoints(a.treaty_id, b.treaty_id)
  )
}

export interface GraphFacts<Treaty extends JsonValue = JsonValue> {
  /** In order of issue. */
  readonly treaties: readonly TreatyFact[]
  /** Sorted by issuer and id. */
  readonly revocations: readonly ImportedRevocation[]
  /** What stands for a treaty that is active: its signed record, or its id where the text is filled in later. */
  readonly signedTreaty: (treaty_id: string) => Treaty
  readonly now: Instant
}

export type RecognitionGraph<Treaty extends JsonValue = JsonValue> = {
  readonly sovereigns: readonly { readonly sovereign_id: string }[]
  readonly recognition_edges: readonly RecognitionEdge[]
  readonly active_treaties: readonly Treaty[]
  readonly revoked_trust_material: readonly RevokedMaterial[]
}

/** The four members whose canonical form is digested: nothing else may be added to this object. */
export function buildGraph<Treaty extends JsonValue>(facts: GraphFacts<Treaty>): RecognitionGraph<Treaty> {
  const edges = facts.treaties.map((fact) => toEdge(fact, facts.now))
  const active = facts.treaties.filter((_, i) => isActiveState(edges[i]?.lifecycle_state ?? 'expired'))
  const ended = facts.treaties.filter((_, i) => ['revoked', 'replaced'].includes(edges[i]?.lifecycle_state ?? ''))
  return {
    sovereigns: listSovereigns(edges),
    recognition_edges: edges,
    active_treaties: active.map((fact) => facts.signedTreaty(fact.treaty_id)),
    revoked_trust_material: [
      ...ended.map((fact) => toEndedTreaty(fact, facts.now)),
      ...facts.revocations.map(toWithdrawn),
    ],
  }
}

function listSovereigns(edges: readonly RecognitionEdge[]): { sovereign_id: string }[] {
  const ids = new Set(edges.flatMap((edge) => [edge.from, edge.to]))
  return [...ids].sort(compareCodePoints).map((sovereign_id) => ({ sovereign_id }))
}

function toEndedTreaty(fact: TreatyFact, now: Instant): EndedTreaty {
  const lifecycle_state = treatyLifecycle(fact, now).state
  return {
    type: 'recognition_treaty',
    id: fact.treaty_id,
    lifecycle_state,
    reason: fact.revocation_reason,
    revoked_at: fact.revoked_at,
  }
}

function toWithdrawn(revocation: ImportedRevocation): WithdrawnAttestation {
  const { attestation_id, issuer_sovereign_id, feed_id, sequence, reason, imported_at } = revocation
  return {
    type: 'membership_attestation',
    id: attestation_id,
    issuer_sovereign_id,
    feed_id,
    sequence,
    reason,
    revoked_at: imported_at,
  }
}

export type ConnectomeSummary = {
  readonly sovereign_count: number
  readonly recognition_edge_count: number
  readonly active_edge_count: number
  readonly revoked_edge_count: number
  readonly revoked_trust_material_count: number
  readonly imported_revocation_count: number
}

export function summarize(graph: RecognitionGraph): ConnectomeSummary {
  return {
    sovereign_count: graph.sovereigns.length,
    recognition_edge_count: graph.recognition_edges.length,
    active_edge_count: graph.recognition_edges.filter(isActiveEdge).length,
    revoked_edge_count: graph.recognition_edges.filter(isRevokedEdge).length,
    revoked_trust_material_count: graph.revoked_trust_material.length,
    imported_revocation_count: graph.revoked_trust_material.filter((item) => item['type'] === 'membership_attestation')
      .length,
  }
}

/** The graph in reading order, with what each imported revocation of the page touches (protocol/core 20.2). */
export function buildConnectome(
  graph: RecognitionGraph,
  material: readonly RevokedMaterial[] = sortMaterial(graph.revoked_trust_material),
): JsonObject {
  return {
    summary: summarize(graph),
    sovereigns: graph.sovereigns,
    recognition_edges: [...graph.recognition_edges].sort(compareEdges),
    active_treaties: graph.active_treaties,
    revoked_trust_material: material,
    revocation_blast_radius: listBlastRadius(graph, material),
  }
}

export type BlastRadius = WithdrawnAttestation & { readonly affected_accepting_sovereigns: readonly string[] }

export function listBlastRadius(graph: RecognitionGraph, material: readonly RevokedMaterial[]): readonly BlastRadius[] {
  const accepting = acceptingSovereigns(graph.recognition_edges)
  return material.filter(isWithdrawn).map(({ type, id, issuer_sovereign_id, ...rest }) => ({
    type,
    id,
    issuer_sovereign_id,
    affected_accepting_sovereigns: accepting.get(issuer_sovereign_id) ?? [],
    ...rest,
  }))
}

export function isWithdrawn(item: RevokedMaterial): item is WithdrawnAttestation {
  return item.type === 'membership_attestation'
}

/** For each recognised sovereign, who recognises it through an active edge. */
function acceptingSovereigns(edges: readonly RecognitionEdge[]): ReadonlyMap<string, readonly string[]> {
  const byIssuer = new Map<string, Set<string>>()
  for (const edge of edges) {
    if (!isActiveEdge(edge)) continue
    const from = byIssuer.get(edge.to) ?? new Set()
    byIssuer.set(edge.to, from.add(edge.from))
  }
  return new Map([...byIssuer].map(([to, from]) => [to, [...from].sort(compareCodePoints)]))
}
