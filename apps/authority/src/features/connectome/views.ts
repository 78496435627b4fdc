import {
  MAX_CONNECTOME_ROWS,
  buildGraph,
  compareCodePoints,
  findTrustPath,
  findTrustPathProblem,
  indexEdges,
  isActiveEdge,
  isJsonObject,
  nextBoundary,
  readJson,
  readOrUndefined,
  summarize,
  writeJson,
} from '@chancery/protocol'
import type {
  ConnectomeSummary,
  ImportedRevocation,
  Instant,
  MaterialPosition,
  RecognitionEdge,
  RecognitionGraph,
  ReportedEdge,
  TreatyFact,
  TrustFinding,
  TrustIndex,
} from '@chancery/protocol'
import { type Reported, toReported } from './reported.ts'
import { type TreatyTable, buildTreatyTable } from './treaty-table.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { type Reader, countRows, listReportedTreaties } from '../../database/database.ts'
import { countRevocations, listNewestRevocations, listTreatyFacts } from './queries.ts'
import { Refusal } from '@chancery/contract'
import type { Query } from '@chancery/service-kit'
import { readPosition, readWhole, writeCursor } from '../../requests/paging.ts'

/** The facts of the graph without the signed texts, which are many times larger and rarely requested. */
interface GraphInput {
  readonly treaties: readonly TreatyFact[]
  /** The newest of them; `withdrawals` counts all. */
  readonly revocations: readonly ImportedRevocation[]
  /** Number of revoked attestations of each issuer. */
  readonly withdrawals: ReadonlyMap<string, number>
  /** What partners report, of partners with an own treaty in force. */
  readonly reported: Reported
  /** Registered partners. */
  readonly partnerCount: number
  readonly now: Instant
}

/** The ends of a path, and whether reported treaties may complete it. */
export interface PathRequest {
  readonly from: string
  readonly to: string
  readonly reported: boolean
}

/** The two sovereigns of a finding, and the time. */
export interface TrustRequest {
  readonly source: string
  readonly target: string
  readonly evaluated_at: string
}

/** A finding and the graph it rests on: both of one version. */
export interface FindingWithDigest {
  readonly finding: TrustFinding
  /** The treaties of the path it rests on. */
  readonly treaty_ids: readonly string[]
  readonly graph_digest: string
}

/** The counts of the graph, and of what partners report. */
export type GraphSummary = ConnectomeSummary & {
  readonly reported_edge_count: number
  readonly partner_count: number
}

/** The graph with ids where its documents have signed treaties, and what is derived from it. */
export interface GraphViews {
  readonly graph: RecognitionGraph<string>
  readonly summary: GraphSummary
  readonly index: TrustIndex
  readonly reported: readonly ReportedEdge[]
  /** Own active and reported edges; undefined when nothing is reported. */
  readonly mixed: TrustIndex | undefined
  /** Number of revoked attestations of each issuer. */
  readonly withdrawals: ReadonlyMap<string, number>
  readonly treatyTable: TreatyTable
  /** When a lifecycle state or risk next changes with time. */
  readonly staleAt: Instant | undefined
}

/** Pure: equal facts at the same time give equal views on every instance. */
export function buildViews(input: GraphInput): GraphViews {
  const { edges, staleAt } = input.reported
  const own = firstBoundary(input.treaties, input.now)
  const graph = buildGraph({ ...input, signedTreaty: (treaty_id) => treaty_id })
  return {
    graph,
    summary: summarizeAll(graph, input),
    index: indexEdges(graph.recognition_edges),
    reported: edges,
    mixed: edges.length === 0 ? undefined : indexEdges([...graph.recognition_edges.filter(isActiveEdge), ...edges]),
    withdrawals: input.withdrawals,
    treatyTable: buildTreatyTable(input.treaties, input.now),
    staleAt: own === undefined || (staleAt !== undefined && staleAt < own) ? staleAt : own,
  }
}

/** Counts every imported revocation, also those that the graph leaves out. */
function summarizeAll(graph: RecognitionGraph<string>, input: GraphInput): GraphSummary {
  const { revocations, withdrawals, reported, partnerCount } = input
  const summary = summarize(graph)
  const all = [...withdrawals.values()].reduce((sum, count) => sum + count, 0)
  return {
    ...summary,
    revoked_trust_material_count: summary.revoked_trust_material_count - revocations.length + all,
    imported_revocation_count: all,
    reported_edge_count: reported.edges.length,
    partner_count: partnerCount,
  }
}

/** Returns the finding about one sovereign from the view of another (protocol/trust-operations 2.5). */
export function findTrustIn(
  views: Pick<GraphViews, 'index' | 'withdrawals'>,
  asked: TrustRequest,
): { readonly finding: TrustFinding; readonly treaty_ids: readonly string[] } {
  const path = findTrustPath(views.index, asked.source, asked.target)
  const finding = findTrustPathProblem(path, (issuer) => views.withdrawals.get(issuer) ?? 0, asked.evaluated_at)
  return { finding, treaty_ids: path.path.map((edge) => edge.treaty_id) }
}

export function acceptedBy(edges: readonly RecognitionEdge[], sovereign: string): readonly string[] {
  const active = edges.filter((edge) => edge.to === sovereign && isActiveEdge(edge))
  return [...new Set(active.map((edge) => edge.from))].sort(compareCodePoints)
}

export function firstBoundary(treaties: readonly TreatyFact[], now: Instant): Instant | undefined {
  let first: Instant | undefined
  for (const treaty of treaties) {
    const at = nextBoundary(treaty, now)
    if (at !== undefined && (first === undefined || at < first)) first = at
  }
  return first
}

/** Reads treaties and imported revocations in the forms the wire has. */
export async function readGraphInput(
  db: Reader,
  now: Instant,
  /** The name of this authority. */
  own: string,
  /** Treaties without a valid signature of this authority. */
  refused: ReadonlySet<string> = new Set(),
): Promise<GraphInput> {
  const [rows, revocations, withdrawals, reported, partnerCount] = await Promise.all([
    listTreatyFacts(db),
    listNewestRevocations(db),
    countRevocations(db),
    listReportedTreaties(db, now),
    countRows(db, 'partners'),
  ])
  const treaties = refused.size === 0 ? rows : rows.filter((row) => !refused.has(row.treaty_id))
  return {
    treaties: treaties.map((row) => ({ ...row, revoked_at: toWireTime(row.revoked_at) })),
    // Sorted here and not by the database, whose collation would change the digest of the graph.
    revocations: revocations
      .map((row) => ({ ...row, imported_at: toWireTime(row.imported_at) ?? '' }))
      .sort(
        (a, b) =>
          compareCodePoints(a.issuer_sovereign_id, b.issuer_sovereign_id) ||
          compareCodePoints(a.attestation_id, b.attestation_id),
      ),
    withdrawals,
    reported: toReported(reported, { sovereign: own, treaties }, now),
    partnerCount,
    now,
  }
}

/** A page of revoked material. */
export interface MaterialRequest {
  readonly limit: number
  readonly after: MaterialPosition | undefined
}

/** `limit` and `cursor` of GET /connectome.json?view=revoked. */
export function readMaterialPage(query: Query): MaterialRequest {
  const [limit, cursor] = [query.first('limit'), query.first('cursor')]
  return {
    limit: limit === undefined ? MAX_CONNECTOME_ROWS : readWhole(limit, 1, MAX_CONNECTOME_ROWS),
    after: cursor === undefined ? undefined : readMaterialPosition(readPosition(cursor)),
  }
}

export function writeMaterialPosition({ type, id, issuer_sovereign_id }: MaterialPosition): string {
  return writeCursor(writeJson({ type, id, ...(issuer_sovereign_id === undefined ? {} : { issuer_sovereign_id }) }))
}

/** An own cursor contains an object; a cursor of another list does not. */
function readMaterialPosition(place: string): MaterialPosition {
  const found = readOrUndefined(() => readJson(place))
  if (!isJsonObject(found)) throw new Refusal('invalid_page')
  const [type, id, issuer] = [found['type'], found['id'], found['issuer_sovereign_id']]
  if (typeof type !== 'string' || typeof id !== 'string') throw new Refusal('invalid_page')
  return { type, id, ...(typeof issuer === 'string' ? { issuer_sovereign_id: issuer } : {}) }
}
