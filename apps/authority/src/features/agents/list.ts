import { NODE_STATES, type NodeState, Refusal } from '@chancery/contract'
import { type JsonObject, readJson } from '@chancery/protocol'
import type { Query } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Candidate } from '../../database/index-source.ts'
import { readChoiceFilter, readPage, readTextFilter, readTimeFilter } from '../../requests/paging.ts'
import { isPublicKeyText } from '../../requests/read-fields.ts'
import { readWalkPosition, walkSegments, writeWalkCursor } from '../../requests/walk-segments.ts'
import { type NodeRow, momentOf, readNodes } from '../roster/index.ts'
import type { AgentsParts } from './search.ts'
import { countWalk, readAgentCandidates, readListedAgents } from './queries/listed.ts'
import type { AgentFilter, AgentSegment, ListedAgent } from './queries/listed.ts'

/** Rows when the caller does not say how many. */
const DEFAULT_ROWS = 50

interface Filter extends AgentFilter {
  readonly state: NodeState | undefined
}

interface AgentRow extends ListedAgent {
  readonly capabilities: readonly string[]
  readonly node: NodeRow | undefined
}

/**
 * GET /admin/agents
 * Lists agents with the label and state of their nodes. One filter chooses the index, and with it the order; others are
 * applied to a bounded number of agents, so such a page may have fewer rows, and its cursor continues.
 */
export async function list(call: OperatorCall, parts: AgentsParts): Promise<JsonObject> {
  const filter = readFilter(call.query)
  const page = readPage(call.query, DEFAULT_ROWS)
  const segments = segmentsOf(filter)
  const after = readWalkPosition(page.after, segments)
  const moment = momentOf(parts.clock.now(), parts.activeWindow.seconds)
  const { database } = parts
  const walk = { now: moment.now, filter }
  const { rows, next } = await walkSegments<AgentSegment, AgentRow>(
    {
      segments,
      readCandidates: (segment, bounds) => readAgentCandidates(database, segment, walk, bounds),
      async readRows(keys) {
        const nodes = await readNodes(database, keys, moment)
        const agents = await readListedAgents(database, keys)
        return new Map(agents.map((agent) => [agent.node_public_key, toRow(agent, nodes)]))
      },
      accepts: (segment, candidate, row) => isFirstMatch(segment, candidate, row, filter) && matches(row, filter),
    },
    { limit: page.limit, after },
  )
  const isWhole = after === undefined && next === undefined
  const isCounted =
    Object.values(filter).filter((value) => value !== undefined).length <= 1 && filter.state === undefined
  return {
    count: rows.length,
    agents: rows.map(view),
    next_cursor: writeWalkCursor(next),
    total: isWhole ? rows.length : isCounted ? await countWalk(database, segments, walk) : null,
  }
}

function readFilter(query: Query): Filter {
  const node_public_key = query.first('node_public_key')
  if (node_public_key !== undefined && !isPublicKeyText(node_public_key)) throw new Refusal('invalid_public_key')
  return {
    q: readTextFilter(query, 'q'),
    capability: readTextFilter(query, 'capability'),
    host: readTextFilter(query, 'host'),
    node_public_key,
    expires_before: readTimeFilter(query, 'expires_before'),
    state: readChoiceFilter(query, 'state', NODE_STATES),
  }
}

/** The indexes that give the agents with the fewest others. */
function segmentsOf({ q, capability, host, node_public_key, expires_before }: Filter): readonly AgentSegment[] {
  if (node_public_key !== undefined) return ['node']
  if (q !== undefined) return ['q-agent', 'q-host', 'q-capability']
  if (capability !== undefined) return ['capability']
  if (host !== undefined) return ['host']
  return expires_before === undefined ? ['newest'] : ['expiry']
}

function toRow(agent: ListedAgent, nodes: ReadonlyMap<string, NodeRow>): AgentRow {
  const capabilities = readJson(agent.capabilities_json) as readonly string[]
  return { ...agent, capabilities, node: nodes.get(agent.node_public_key) }
}

/** An agent that fits in several ways is found by the first. */
function isFirstMatch(segment: AgentSegment, { at }: Candidate, row: AgentRow, { q = '' }: Filter): boolean {
  if (!segment.startsWith('q-')) return true
  if (row.agent_id.startsWith(q)) return segment === 'q-agent'
  if (row.host?.startsWith(q) === true) return segment === 'q-host'
  return at === row.capabilities.find((each) => each.startsWith(q))
}

function matches(row: AgentRow, filter: Filter): boolean {
  const { q, capability, host, expires_before, state } = filter
  return (
    (q === undefined || [row.agent_id, row.host ?? '', ...row.capabilities].some((text) => text.startsWith(q))) &&
    (capability === undefined || row.capabilities.includes(capability)) &&
    (host === undefined || row.host === host) &&
    (expires_before === undefined || row.expires_at < expires_before) &&
    (state === undefined || row.node?.state === state)
  )
}

function view({ descriptor_json, node }: AgentRow): JsonObject {
  return { descriptor: readJson(descriptor_json), node_label: node?.label ?? null, node_state: node?.state ?? null }
}
