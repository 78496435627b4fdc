import type { Database } from '../../database/database.ts'
import type { Candidate } from '../../database/index-source.ts'
import { type WalkPosition, type WalkedPage, walkSegments } from '../../requests/walk-segments.ts'
import { type SegmentName, type Walk, readCandidates } from './queries/segments.ts'
import { type NodeRow, readNodes } from './queries/rows.ts'

export interface WalkPlan extends Walk {
  /** Walked one after the other. No node is in two of them. */
  readonly segments: readonly SegmentName[]
  /** Filters that no index serves. */
  readonly matches: (row: NodeRow) => boolean
}

/** Reads nodes from a position on until the page is full. */
export function walkNodes(
  database: Database,
  plan: WalkPlan,
  bounds: { readonly limit: number; readonly after: WalkPosition<SegmentName> | undefined },
  readAtOnce?: number,
): Promise<WalkedPage<SegmentName, NodeRow>> {
  const walk = {
    segments: plan.segments,
    readCandidates: (segment: SegmentName, chunk: Parameters<typeof readCandidates>[3]) =>
      readCandidates(database, segment, plan, chunk),
    readRows: (keys: readonly string[]) => readNodes(database, keys, plan.moment),
    accepts: (segment: SegmentName, candidate: Candidate, row: NodeRow) =>
      isOwn(segment, candidate, row, plan) && plan.matches(row),
  }
  return walkSegments(walk, bounds, readAtOnce)
}

/** False for a node that another segment of the plan gives, and for a certificate that is not the newest. */
function isOwn(segment: SegmentName, { id }: Candidate, row: NodeRow, plan: WalkPlan): boolean {
  const isNewest = row.cert_id === id
  const has = (name: SegmentName): boolean => plan.segments.includes(name)
  if (segment.startsWith('q-')) return isFirstMatch(segment, isNewest, row, plan)
  if (segment === 'agents') return row.agent_id !== null
  if (segment === 'silent') return isNewest && row.state === 'silent'
  if (segment === 'ends') return isNewest && row.state === 'ends_soon'
  if (has('silent') && row.state === 'silent' && (!plan.isLarge || row.silent_since !== null)) return false
  if (has('ends') && row.state === 'ends_soon') return false
  return segment === 'label' || (isNewest && !(has('label') && row.label !== null))
}

/** A node that fits in several ways is found by the first. */
function isFirstMatch(segment: SegmentName, isNewest: boolean, row: NodeRow, { q, folded }: WalkPlan): boolean {
  const fits: readonly (readonly [SegmentName, boolean])[] = [
    ['q-label', row.folded?.startsWith(folded) ?? false],
    ['q-key', row.node_public_key.startsWith(q)],
    ['q-certificate', row.cert_id.startsWith(q)],
    ['q-agent', row.agent_id?.startsWith(q) ?? false],
    ['q-address', row.remote_addr?.startsWith(q) ?? false],
  ]
  const first = fits.find(([, isFit]) => isFit)?.[0]
  // A former certificate fits, too: nothing else of the node does then.
  if (segment === 'q-certificate') return isNewest ? first === segment : first === undefined
  const isOfCertificate = segment === 'q-key' || segment === 'q-address'
  return first === segment && (isNewest || !isOfCertificate)
}
