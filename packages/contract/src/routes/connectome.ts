import { EXPIRY_RISKS, LIFECYCLE_STATES, MAX_CONNECTOME_ROWS, described, shape } from '@chancery/protocol'
import type { ExplainedPath, Read, ReadBy } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { count, flag, listOf, storedRecord, text, textOrNull, texts, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { anyOf, arrayOf, integer, oneOf, open, optional, required, withDefault } = shape

/** The size of an answer is limited elsewhere; this limit only makes the reader total. */
const MANY = 10_000_000

const state = required(oneOf(...LIFECYCLE_STATES))
const edge = {
  from: text,
  to: text,
  treaty_id: text,
  status: text,
  lifecycle_state: state,
  expiry_risk: required(oneOf(...EXPIRY_RISKS)),
  valid_from: text,
  expires_at: text,
}
/** An edge of which a partner says it. */
const reported = { ...edge, origin: required(oneOf('reported')), reported_by: text, as_of: text }
const reportedEdges = arrayOf(open({ ...reported, freshness: required(oneOf('fresh', 'watch')) }), { max: MANY })

const sovereigns = listOf(open({ sovereign_id: text }), MANY)

const withdrawn = {
  type: required(oneOf('membership_attestation')),
  id: text,
  issuer_sovereign_id: text,
  feed_id: text,
  sequence: whole,
  reason: textOrNull,
  revoked_at: text,
}
const ended = {
  type: required(oneOf('recognition_treaty')),
  id: text,
  lifecycle_state: state,
  reason: textOrNull,
  revoked_at: textOrNull,
}
const material = listOf(anyOf(open(ended), open(withdrawn)), MANY)

const graph = {
  sovereigns,
  recognition_edges: listOf(open(edge), MANY),
  active_treaties: listOf(storedRecord('recognition-treaty'), MANY),
  revoked_trust_material: material,
  reported_edges: optional(reportedEdges),
}

export const connectomeSummary = open({
  sovereign_count: whole,
  recognition_edge_count: whole,
  active_edge_count: whole,
  revoked_edge_count: whole,
  revoked_trust_material_count: whole,
  imported_revocation_count: whole,
  reported_edge_count: optional(count),
  partner_count: optional(count),
})

const revoked = {
  summary: required(connectomeSummary),
  revoked_trust_material: material,
  revocation_blast_radius: listOf(
    open({
      ...withdrawn,
      affected_accepting_sovereigns: listOf(shape.string, MANY),
      /** Those of them that are known only by the report of a partner. */
      reported_accepting_sovereigns: optional(arrayOf(shape.string, { max: MANY })),
    }),
    MANY,
  ),
  /** For `view=revoked`, when there is more material than the answer has. */
  next_cursor: textOrNull,
}

/** The graph in reading order (protocol/core 20.2). */
export const wholeConnectome = open({ ...graph, ...revoked, reported_edges_truncated: optional(shape.boolean) })
/** A page of revoked material, with the networks that each revocation affects. */
export const revokedPage = open(revoked)

const numbers = listOf(count, MANY)
/** Edges as columns of numbers: indexes of the lists of names. `origin` is 1 for reported edges. */
const edgeColumns = open({
  sovereigns: listOf(shape.string, MANY),
  lifecycle_states: texts,
  from: numbers,
  to: numbers,
  state: numbers,
  expiry_risks: texts,
  risk: numbers,
  origin: optional(arrayOf(count, { max: MANY })),
})

const pathForm = open({
  from: text,
  to: text,
  trusted: flag,
  reason: required(
    oneOf('active_treaty_path', 'direct_treaty_revoked', 'reported_treaty_path', 'no_active_treaty_path'),
  ),
  path: listOf(anyOf(open(reported), open({ ...edge, origin: withDefault(oneOf('own'), 'own') })), MANY),
  hop_count: whole,
  own_hops: optional(count),
  reported_hops: withDefault(count, 0),
})

/** Every edge of an authority that names no origin is its own. */
const path: Read<ExplainedPath> = described(
  (value, place) => {
    const found = pathForm(value, place)
    return { ...found, own_hops: found.own_hops ?? found.hop_count }
  },
  (of) => of(pathForm),
)

const facts = {
  graph: {
    id: 'GET /recognition-graph',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Recognition graph',
    purpose: 'Gives sovereigns, recognition edges, active treaties and revoked trust material.',
    errors: ['invalid_input', 'unexpected_field'],
    query: { reported: oneOf('include', 'exclude') },
    answer: open({ ...graph, reported_sovereigns: optional(arrayOf(open({ sovereign_id: text }), { max: MANY })) }),
    gateway: { operation: 'treaties-recognition-graph', group: 'treaties' },
  },
  page: {
    id: 'GET /connectome',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Connectome page',
    purpose: 'Shows the recognition graph to a human reader.',
    query: { from: shape.string, q: shape.string, to: shape.string },
  },
  summary: {
    id: 'GET /connectome.json',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Connectome summary',
    purpose: 'Counts and sorts the graph and shows whom each imported revocation affects.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: {
      cursor: shape.string,
      limit: integer(1, MAX_CONNECTOME_ROWS),
      reported: oneOf('include', 'exclude'),
      view: shape.string,
    },
    answer: anyOf(wholeConnectome, anyOf(revokedPage, edgeColumns)),
    gateway: { operation: 'treaties-connectome-json', group: 'treaties' },
  },
  trustPath: {
    id: 'GET /connectome/trust-path',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Trust path between two sovereigns',
    purpose: 'Explains whether active treaties connect one sovereign to another.',
    errors: ['invalid_input', 'missing_trust_path_parameters', 'unexpected_field'],
    query: {
      from: shape.string,
      reported: oneOf('include', 'exclude'),
      source: shape.string,
      target: shape.string,
      to: shape.string,
    },
    answer: path,
    gateway: {
      operation: 'treaties-connectome-trust-path',
      group: 'treaties',
      query: ['from', 'source', 'target', 'to'],
    },
  },
  atlasPage: {
    id: 'GET /atlas',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Atlas page',
    purpose: 'Shows the atlas to a human reader.',
    query: { q: shape.string },
  },
  atlas: {
    id: 'GET /atlas.json',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Atlas summary',
    purpose: 'Gives sovereigns, edges and the digest of the graph they come from.',
    answer: open({
      sovereigns,
      recognition_edges: graph.recognition_edges,
      active_treaty_count: whole,
      revoked_trust_material_count: whole,
      reported_edge_count: withDefault(count, 0),
      graph_digest: text,
    }),
    gateway: { operation: 'public-atlas-json', group: 'network' },
  },
} as const

/** Views over stored treaties and imported revocations. None of them is a source of trust (protocol/core 20). */
export const connectome: Routes<typeof facts> = routes(facts)

export type Connectome = ReadBy<typeof wholeConnectome>
export type RevokedPage = ReadBy<typeof revokedPage>
export type Atlas = AnswerOf<typeof connectome.atlas>
