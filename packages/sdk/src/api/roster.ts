import { LIMITS, roster } from '@chancery/contract'
import { FormError, type JsonObject, type JsonValue, isJsonObject, shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { allRows } from './pages.ts'
import { type Paging, paging } from './page.ts'

export const NODE_STATES = ['active', 'ends_soon', 'silent', 'superseded', 'revoked', 'expired'] as const
export type NodeState = (typeof NODE_STATES)[number]

/** One node key by its newest certificate. A type, not an interface: it is JSON and may be passed on as such. */
export type NodeSummary = {
  readonly node_public_key: string
  readonly label: string | null
  readonly state: NodeState
  readonly roles: readonly string[]
  readonly cert_id: string
  readonly joined_at: string
  readonly issued_at: string
  readonly expires_at: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly last_heartbeat: string | null
  readonly heartbeat_status: string | null
  readonly remote_addr: string | null
  readonly agent_id: string | null
  readonly capabilities: readonly string[]
}

export interface NodeFilter {
  readonly state?: NodeState
  readonly role?: string
  /** Begins the label (in any case), key, certificate id, agent id or address. */
  readonly q?: string
  readonly has_agent?: boolean
  readonly joined_since?: string
  /** `attention` when left out: silent nodes first, then certificates that end within a day, then labels, then the newest. */
  readonly sort?: 'attention' | 'newest' | 'ends' | 'label'
}

/** `more`: there are more than were counted. */
export interface BoundedCount {
  readonly count: number
  readonly more: boolean
}

export interface NodePage extends Paging {
  readonly count: number
  /** A page with a filter may have fewer rows than the limit although there are more. */
  readonly nodes: readonly NodeSummary[]
  /** Of the whole network, whatever the filter. Null while those of a large network are being counted. */
  readonly counts: Readonly<Record<NodeState | 'all', BoundedCount>> | null
}

/** One node with its newest 100 certificates as they were signed. */
export type NodeDetails = JsonObject & {
  readonly node_public_key: string
  readonly state: string
  readonly certificates: readonly JsonObject[]
  readonly more_certificates: boolean
  readonly agent: JsonObject | null
  readonly invite: JsonObject | null
}

export interface NodeAuditEvents extends Paging {
  readonly count: number
  /** Redacted audit events, newest first. */
  readonly events: readonly JsonObject[]
}

export interface RosterApi {
  /** As operator: one node by its public key in base64. */
  node(nodePublicKey: string, options?: CallOptions): Promise<NodeDetails>
  /** As operator: audit events that name the node, one of its newest certificates or its invite. */
  nodeEvents(
    nodePublicKey: string,
    query?: { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<NodeAuditEvents>
  /** As operator: one page of nodes, 50 rows when no limit is sent. */
  nodes(
    query?: NodeFilter & { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<NodePage>
  /** Returns all of them, page after page. */
  listNodes(
    query?: NodeFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<NodeSummary, void, undefined>
}

const word = shape.required(shape.string)
const wordOrNull = shape.required(shape.nullable(shape.string))
const number = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const bounded = shape.required(known({ count: number, more: shape.required(shape.boolean) }))

const readRow = known({
  node_public_key: word,
  label: wordOrNull,
  state: shape.required(shape.oneOf(...NODE_STATES)),
  roles: shape.required(shape.arrayOf(shape.string, { max: 64 })),
  cert_id: word,
  joined_at: word,
  issued_at: word,
  expires_at: word,
  revoked_at: wordOrNull,
  revocation_reason: wordOrNull,
  last_heartbeat: wordOrNull,
  heartbeat_status: wordOrNull,
  remote_addr: wordOrNull,
  agent_id: wordOrNull,
  capabilities: shape.required(shape.arrayOf(shape.string, { max: 10_000 })),
})

const readPage = known({
  count: number,
  nodes: shape.required(shape.arrayOf(readRow, { max: LIMITS.listPageRows })),
  counts: shape.required(
    shape.nullable(
      known({
        all: bounded,
        active: bounded,
        ends_soon: bounded,
        silent: bounded,
        superseded: bounded,
        revoked: bounded,
        expired: bounded,
      }),
    ),
  ),
  ...paging,
})

const readObject = (value: JsonValue): JsonObject => {
  if (!isJsonObject(value)) throw new FormError('', 'is not an object')
  return value
}

const readDetails = known({
  node_public_key: word,
  state: word,
  certificates: shape.required(shape.arrayOf(readObject, { max: 1000 })),
  more_certificates: shape.required(shape.boolean),
  agent: shape.required(shape.nullable(readObject)),
  invite: shape.required(shape.nullable(readObject)),
})

const readEvents = known({
  count: number,
  events: shape.required(shape.arrayOf(readObject, { max: LIMITS.listPageRows })),
  ...paging,
})

/** As the path has it: base64url without padding. */
function toPathKey(key: string): string {
  return key.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

export function rosterApi({ call }: Connection): RosterApi {
  const nodes: RosterApi['nodes'] = ({ has_agent, ...query } = {}, options) =>
    call({
      route: roster.list,
      query: { ...query, ...(has_agent === undefined ? {} : { has_agent: String(has_agent) }) },
      read: json((value) => readPage(value, '')),
      options,
    })
  return {
    node: (key, options) =>
      call({
        route: roster.find,
        params: { node_public_key: toPathKey(key) },
        read: json((value) => ({ ...readObject(value), ...readDetails(value, '') })),
        options,
      }),
    nodeEvents: (key, query = {}, options) =>
      call({
        route: roster.events,
        params: { node_public_key: toPathKey(key) },
        query: { ...query },
        read: json((value) => readEvents(value, '')),
        options,
      }),
    nodes,
    listNodes: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => nodes({ ...filter, ...bounds }, options),
        (page) => page.nodes,
        limit,
      ),
  }
}
