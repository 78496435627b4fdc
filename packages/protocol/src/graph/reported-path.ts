import { MAX_HOPS, type TrustPath, findTrustPath } from './trust-path.ts'
import type { RecognitionEdge } from './recognition-graph.ts'
import type { TrustIndex } from './trust-index.ts'

/** A treaty that a partner lists. It is shown, and is not the basis of a decision, a finding, a digest or a key. */
export type ReportedEdge = RecognitionEdge & {
  readonly origin: 'reported'
  readonly reported_by: string
  readonly as_of: string
  readonly freshness: 'fresh' | 'watch'
}

export type PathEdge = RecognitionEdge &
  ({ readonly origin: 'own' } | { readonly origin: 'reported'; readonly reported_by: string; readonly as_of: string })

export type ExplainedPath = {
  readonly from: string
  readonly to: string
  /** True only when every hop is an own treaty in force. */
  readonly trusted: boolean
  readonly reason: TrustPath['reason'] | 'reported_treaty_path'
  readonly path: readonly PathEdge[]
  readonly hop_count: number
  readonly own_hops: number
  readonly reported_hops: number
}

/**
 * The path over own treaties; without one, and without an ended own treaty between the two, the path that reported
 * treaties complete. `mixed` has the own active and the reported edges.
 */
export function explainPath(own: TrustIndex, mixed: TrustIndex | undefined, from: string, to: string): ExplainedPath {
  const found = findTrustPath(own, from, to)
  if (found.reason !== 'no_active_treaty_path' || mixed === undefined) return withOrigins(found)
  const reported = findTrustPath(mixed, from, to)
  if (!reported.trusted || reported.hop_count > MAX_HOPS) return withOrigins(found)
  return withOrigins({ ...reported, trusted: false, reason: 'reported_treaty_path' })
}

function withOrigins(found: Omit<TrustPath, 'reason'> & { readonly reason: ExplainedPath['reason'] }): ExplainedPath {
  const path = found.path.map(withOrigin)
  const reported_hops = path.filter(({ origin }) => origin === 'reported').length
  return { ...found, path, own_hops: found.hop_count - reported_hops, reported_hops }
}

function withOrigin(edge: RecognitionEdge | ReportedEdge): PathEdge {
  if (!('origin' in edge)) return { ...edge, origin: 'own' }
  const { freshness: _none, ...rest } = edge
  return rest
}
