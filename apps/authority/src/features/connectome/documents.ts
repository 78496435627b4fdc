import { createHash } from 'node:crypto'
import {
  MAX_CONNECTOME_ROWS,
  buildConnectome,
  canonicalJson,
  compareCodePoints,
  compareEdges,
  joinBytes,
  listBlastRadius,
  pageMaterial,
  readJson,
  sortCodePoints,
  sortMaterial,
  writeJson,
} from '@chancery/protocol'
import type {
  ExpiryRisk,
  JsonObject,
  JsonValue,
  LifecycleState,
  RecognitionEdge,
  RecognitionGraph,
  ReportedEdge,
  RevokedMaterial,
} from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { type GraphSummary, type GraphViews, type MaterialRequest, writeMaterialPosition } from './views.ts'
import { type TextPosition, pageTreatyTexts } from './queries.ts'
import { MAX_REPORTED_EDGES, addReported, reportedSovereigns } from './reported.ts'

const STATES: readonly LifecycleState[] = ['active', 'expiring_soon', 'expired', 'revoked', 'replaced']
const RISKS: readonly ExpiryRisk[] = ['none', 'low', 'medium', 'high', 'expired']

/**
 * Edges as columns of numbers: `from` and `to` are indexes of `sovereigns`, `state` of `lifecycle_states`, `risk` of
 * `expiry_risks`.
 */
export type EdgeColumns = {
  readonly sovereigns: readonly string[]
  readonly lifecycle_states: readonly LifecycleState[]
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly state: readonly number[]
  readonly expiry_risks: readonly ExpiryRisk[]
  readonly risk: readonly number[]
}

/** The part of the graph that a map needs. It has a tenth of the size, because no name is repeated. */
function listEdgeColumns(graph: RecognitionGraph<string>): EdgeColumns {
  const sovereigns = graph.sovereigns.map(({ sovereign_id }) => sovereign_id)
  return toColumns(sovereigns, [...graph.recognition_edges].sort(compareEdges))
}

/** Own edges first, then those that partners report; `origin` is 0 for own and 1 for reported edges. */
function listAllEdgeColumns(
  graph: RecognitionGraph<string>,
  reported: readonly ReportedEdge[],
): EdgeColumns & { readonly origin: readonly number[] } {
  const own = [...graph.recognition_edges].sort(compareEdges)
  const names = new Set(graph.sovereigns.map(({ sovereign_id }) => sovereign_id))
  for (const { from, to } of reported) names.add(from).add(to)
  const columns = toColumns([...names].sort(compareCodePoints), [...own, ...[...reported].sort(compareEdges)])
  return { ...columns, origin: [...own.map(() => 0), ...reported.map(() => 1)] }
}

function toColumns(sovereigns: readonly string[], edges: readonly RecognitionEdge[]): EdgeColumns {
  const places = new Map(sovereigns.map((id, place) => [id, place]))
  return {
    sovereigns,
    lifecycle_states: STATES,
    from: edges.map((edge) => places.get(edge.from) ?? -1),
    to: edges.map((edge) => places.get(edge.to) ?? -1),
    state: edges.map((edge) => STATES.indexOf(edge.lifecycle_state)),
    expiry_risks: RISKS,
    risk: edges.map((edge) => RISKS.indexOf(edge.expiry_risk)),
  }
}

/** The documents that are made of the graph at the first request. */
export type DocumentName = 'graph' | 'graph-with-reported' | 'connectome' | 'edges' | 'edges-with-reported' | 'atlas'

type Outline = RecognitionGraph<string>

/**
 * Writes documents of one version of the graph. Signed texts are read page by page and copied as stored, so that
 * 200,000 treaties are never in memory as objects.
 */
export class DocumentWriter {
  readonly #db: Reader
  readonly #graph: Outline
  readonly #reported: readonly ReportedEdge[]
  readonly #summary: GraphSummary
  #digest: Promise<string> | undefined
  #sorted: readonly RevokedMaterial[] | undefined

  constructor(db: Reader, views: Pick<GraphViews, 'graph' | 'summary' | 'reported'>) {
    this.#db = db
    this.#graph = views.graph
    this.#reported = views.reported
    this.#summary = views.summary
  }

  async write(name: DocumentName): Promise<Uint8Array<ArrayBuffer>> {
    if (name === 'atlas') return joinBytes([Buffer.from(writeJson(await this.#atlas()))])
    if (name === 'edges') return joinBytes([Buffer.from(writeJson(listEdgeColumns(this.#graph)))])
    if (name === 'edges-with-reported')
      return joinBytes([Buffer.from(writeJson(listAllEdgeColumns(this.#graph, this.#reported)))])
    const outline = this.#outline(name)
    const chunks: Buffer[] = []
    for await (const text of this.#fill(outline, Object.keys(outline), writeJson, asStored))
      chunks.push(Buffer.from(text))
    return joinBytes(chunks)
  }

  #outline(name: 'graph' | 'graph-with-reported' | 'connectome'): JsonObject {
    if (name === 'connectome') return this.#connectome()
    if (name === 'graph') return this.#graph
    return {
      ...this.#graph,
      reported_edges: this.#reported,
      reported_sovereigns: reportedSovereigns(this.#reported),
    }
  }

  /** Who accepted the issuer, by an own treaty or by the report of a partner. */
  #blastRadius(rows: readonly RevokedMaterial[]): readonly JsonObject[] {
    return addReported(listBlastRadius(this.#graph, rows), this.#reported)
  }

  /**
   * Rows of revoked material after a position, with the sovereigns that each affects. Large graphs are read in pages.
   */
  materialPage(asked: MaterialRequest): JsonObject {
    const { rows, end } = pageMaterial(this.#material(), asked)
    return {
      summary: this.#summary,
      revoked_trust_material: rows,
      revocation_blast_radius: this.#blastRadius(rows),
      next_cursor: end === undefined ? null : writeMaterialPosition(end),
    }
  }

  #connectome(): JsonObject {
    const { rows, end } = pageMaterial(this.#material(), { limit: MAX_CONNECTOME_ROWS, after: undefined })
    const whole = {
      ...buildConnectome(this.#graph, rows),
      summary: this.#summary,
      revocation_blast_radius: this.#blastRadius(rows),
      reported_edges: this.#reported.slice(0, MAX_REPORTED_EDGES),
      reported_edges_truncated: this.#reported.length > MAX_REPORTED_EDGES,
    }
    return end === undefined ? whole : { ...whole, next_cursor: writeMaterialPosition(end) }
  }

  /** Sorted at the first request, so that a million rows are not sorted once per page. */
  #material(): readonly RevokedMaterial[] {
    this.#sorted ??= sortMaterial(this.#graph.revoked_trust_material)
    return this.#sorted
  }

  /** H(C(graph)), the digest that trust evidence and agreements name (protocol/trust-operations 2.2). */
  digest(): Promise<string> {
    if (this.#digest === undefined) {
      this.#digest = this.#computeDigest()
      // A failed read is not cached: the next caller reads again.
      this.#digest.catch(() => (this.#digest = undefined))
    }
    return this.#digest
  }

  async #computeDigest(): Promise<string> {
    const hash = createHash('sha256')
    const names = sortCodePoints(Object.keys(this.#graph))
    for await (const text of this.#fill(this.#graph, names, canonicalJson, asCanonical)) hash.update(text)
    return hash.digest('hex')
  }

  async #atlas(): Promise<JsonObject> {
    return {
      sovereigns: this.#graph.sovereigns,
      recognition_edges: this.#graph.recognition_edges,
      active_treaty_count: this.#graph.active_treaties.length,
      revoked_trust_material_count: this.#summary.revoked_trust_material_count,
      reported_edge_count: this.#reported.length,
      graph_digest: await this.digest(),
    }
  }

  /** The page data member by member, with signed texts in place of ids. */
  async *#fill(
    outline: JsonObject,
    names: readonly string[],
    write: (value: JsonValue) => string,
    form: (text: string) => string,
  ): AsyncGenerator<string> {
    let separator = '{'
    for (const name of names) {
      yield `${separator}${writeJson(name)}:`
      if (name === 'active_treaties') yield* this.#treaties(form)
      else yield write(outline[name] ?? null)
      separator = ','
    }
    yield '}'
  }

  async *#treaties(form: (text: string) => string): AsyncGenerator<string> {
    const wanted = this.#graph.active_treaties
    const pending = new Set(wanted)
    let after: TextPosition | undefined
    let separator = '['
    if (wanted.length === 0) yield separator
    while (pending.size > 0) {
      const page = await pageTreatyTexts(this.#db, after)
      after = page.at(-1)
      // Treaties are never deleted. An id without a row means that the database lost one, and no document may hide
      // that.
      if (after === undefined) throw new Error(`${pending.size} active treaties are not in the database`)
      // Treaties that another instance has added since belong to the next version of the graph.
      const texts = page
        .filter(({ treaty_id }) => pending.delete(treaty_id))
        .map(({ treaty_json }) => form(treaty_json))
      if (texts.length === 0) continue
      yield separator + texts.join(',')
      separator = ','
    }
    yield ']'
  }
}

function asStored(text: string): string {
  return text
}

function asCanonical(text: string): string {
  return canonicalJson(readJson(text))
}
