import { connectome } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import type {
  BlastRadius,
  ConnectomeSummary,
  JsonObject,
  JsonValue,
  RecognitionEdge,
  RecognitionGraph,
  RevokedMaterial,
  ExplainedPath,
  PathEdge,
} from '@chancery/protocol'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** The graph in reading order (protocol/core 20.2). */
export type Connectome = RecognitionGraph & {
  readonly summary: ConnectomeSummary
  readonly revocation_blast_radius: readonly BlastRadius[]
  /** Cursor for `revoked` when there is more material than one document contains; else null. */
  readonly next_cursor: string | null
}

/** A page of revoked material, with the networks that each revocation affects. */
export type RevokedPage = Pick<
  Connectome,
  'summary' | 'revoked_trust_material' | 'revocation_blast_radius' | 'next_cursor'
>

export type Atlas = Pick<RecognitionGraph, 'sovereigns' | 'recognition_edges'> & {
  readonly active_treaty_count: number
  readonly revoked_trust_material_count: number
  readonly graph_digest: string
}

/** Views of stored treaties and imported revocations; none of them is a source of trust. */
export interface ConnectomeApi {
  graph(options?: CallOptions): Promise<RecognitionGraph>
  /** At most 10,000 rows of revoked material; `next_cursor` shows whether there are more. */
  summary(options?: CallOptions): Promise<Connectome>
  /** Revoked material page by page. */
  revoked(query?: { readonly limit?: number; readonly cursor?: string }, options?: CallOptions): Promise<RevokedPage>
  /** Returns the treaties between two networks. It makes no treaty transitive. */
  trustPath(from: string, to: string, options?: CallOptions): Promise<ExplainedPath>
  atlas(options?: CallOptions): Promise<Atlas>
  page(options?: CallOptions): Promise<string>
  atlasPage(options?: CallOptions): Promise<string>
}

/** The size of a response is limited elsewhere; this limit only makes the reader total. */
const MANY = { max: 10_000_000 } as const

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const wordOrNull = shape.required(shape.nullable(shape.string))
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const state = shape.required(shape.oneOf('active', 'expiring_soon', 'expired', 'revoked', 'replaced'))

const readEdge = shape.open({
  from: word,
  to: word,
  treaty_id: word,
  status: word,
  lifecycle_state: state,
  expiry_risk: shape.required(shape.oneOf('none', 'low', 'medium', 'high', 'expired')),
  valid_from: word,
  expires_at: word,
})

const sovereigns = shape.required(shape.arrayOf(shape.open({ sovereign_id: word }), MANY))
const edges = shape.required(shape.arrayOf((value, place): RecognitionEdge => readEdge(value, place), MANY))

const readEnded = shape.open({
  type: shape.required(shape.oneOf('recognition_treaty')),
  id: word,
  lifecycle_state: state,
  reason: wordOrNull,
  revoked_at: wordOrNull,
})

const withdrawn = {
  type: shape.required(shape.oneOf('membership_attestation')),
  id: word,
  issuer_sovereign_id: word,
  feed_id: word,
  sequence: whole,
  reason: wordOrNull,
  revoked_at: word,
}
const readWithdrawn = shape.open(withdrawn)

function readMaterial(value: JsonValue, place: string): RevokedMaterial {
  const { type } = shape.object(value, place)
  return type === 'recognition_treaty' ? readEnded(value, place) : readWithdrawn(value, place)
}

const graphMembers = {
  sovereigns,
  recognition_edges: edges,
  active_treaties: shape.required(shape.arrayOf((value, place): JsonObject => shape.object(value, place), MANY)),
  revoked_trust_material: shape.required(shape.arrayOf(readMaterial, MANY)),
}

const readGraph = shape.open(graphMembers)

const revokedMembers = {
  revoked_trust_material: graphMembers.revoked_trust_material,
  summary: shape.required(
    shape.open({
      sovereign_count: whole,
      recognition_edge_count: whole,
      active_edge_count: whole,
      revoked_edge_count: whole,
      revoked_trust_material_count: whole,
      imported_revocation_count: whole,
    }),
  ),
  revocation_blast_radius: shape.required(
    shape.arrayOf(
      shape.open({ ...withdrawn, affected_accepting_sovereigns: shape.required(shape.arrayOf(shape.string, MANY)) }),
      MANY,
    ),
  ),
  next_cursor: shape.withDefault(shape.nullable(shape.string), null),
}

const readConnectome = shape.open({ ...graphMembers, ...revokedMembers })
const readRevoked = shape.open(revokedMembers)

const readPath = shape.open({
  from: word,
  to: word,
  trusted: flag,
  reason: shape.required(
    shape.oneOf('active_treaty_path', 'direct_treaty_revoked', 'reported_treaty_path', 'no_active_treaty_path'),
  ),
  path: shape.required(shape.arrayOf(readPathEdge, MANY)),
  hop_count: whole,
})

/** Every edge of an authority that names no origin is its own. */
function readPathEdge(value: JsonValue, place: string): PathEdge {
  const edge = readEdge(value, place)
  const { origin, reported_by, as_of } = shape.object(value, place)
  if (origin !== 'reported') return { ...edge, origin: 'own' }
  return {
    ...edge,
    origin,
    reported_by: shape.string(reported_by ?? null, place),
    as_of: shape.string(as_of ?? null, place),
  }
}

function readExplainedPath(value: JsonValue): ExplainedPath {
  const found = readPath(value, '')
  const reported_hops = found.path.filter(({ origin }) => origin === 'reported').length
  return { ...found, own_hops: found.hop_count - reported_hops, reported_hops }
}

const readAtlas = shape.open({
  sovereigns,
  recognition_edges: edges,
  active_treaty_count: whole,
  revoked_trust_material_count: whole,
  graph_digest: word,
})

export function connectomeApi({ call }: Connection): ConnectomeApi {
  return {
    graph: (options) => call({ route: connectome.graph, read: json((value) => readGraph(value, '')), options }),
    summary: (options) =>
      call({ route: connectome.summary, read: json((value) => readConnectome(value, '')), options }),
    revoked: (query = {}, options) =>
      call({
        route: connectome.summary,
        query: { view: 'revoked', ...query },
        read: json((value) => readRevoked(value, '')),
        options,
      }),
    trustPath: (from, to, options) =>
      call({
        route: connectome.trustPath,
        query: { from, to },
        read: json(readExplainedPath),
        options,
      }),
    atlas: (options) => call({ route: connectome.atlas, read: json((value) => readAtlas(value, '')), options }),
    page: (options) => call({ route: connectome.page, read: text, options }),
    atlasPage: (options) => call({ route: connectome.atlasPage, read: text, options }),
  }
}
