import { LIMITS } from '@chancery/contract'
import { type JsonObject, canonicalJson, writeJson, writeSortable } from '@chancery/protocol'
import { Batcher, type Call, type Clock, type HttpResponse, jsonText } from '@chancery/service-kit'
import { readPlace, writePlace } from '../../requests/list-position.ts'
import { pageMembers, readPage, readTextFilter, writeCursor } from '../../requests/paging.ts'
import { AGENT_ORDER, type AgentRow, countMatches, estimateTag, searchAgents } from './queries/search.ts'
import type { Core } from '../../core.ts'
import { AdaptiveCount, isLargeTable } from '../../database/large-tables.ts'
import type { Database } from '../../database/database.ts'
import { type RegistrationOutcome, type RegistrationRow, registerAgents } from './queries/registrations.ts'
import { countAgents } from './queries/agents.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { CAPABILITY_ORDER, countCapabilities, listCapabilities } from './queries/capabilities.ts'

export interface AgentsParts extends Pick<
  Core,
  | 'activeWindow'
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'database'
  | 'ids'
  | 'network'
  | 'purgeClock'
  | 'agentReads'
  | 'rollback'
> {}

/** Queue of registrations for the next transaction, and the public count of agents. */
interface AgentBatches {
  readonly registrations: Batcher<RegistrationRow, RegistrationOutcome>
  readonly count: AdaptiveCount
  close(): Promise<void>
}

export function openAgentBatches(database: Database, clock: Clock): AgentBatches {
  const now = (): string => writeSortable(clock.now())
  const registrations = new Batcher<RegistrationRow, RegistrationOutcome>(
    async (rows) => [...(await registerAgents(database, rows, now()))],
    { maxItems: 200, maxWaiting: 5000 },
  )
  return {
    registrations,
    count: new AdaptiveCount(
      clock,
      () => countAgents(database.read, now()),
      () => isLargeTable(database.read, 'agent_registrations'),
    ),
    close: () => registrations.close(),
  }
}

/** The parts of the feature and its own state. */
export interface AgentsState extends AgentsParts {
  /** Queued registrations share a transaction. */
  readonly batches: AgentBatches
}

/**
 * GET /agents
 * With a capability: the descriptors that have exactly this tag, as they were received. Without: only the number of
 * agents.
 */
export async function search(call: Call, parts: AgentsState): Promise<HttpResponse> {
  const capability = call.query.first('capability') ?? ''
  if (capability === '') return jsonText(writeJson({ count: await parts.batches.count.read(), capability: null }))
  const page = readPage(call.query)
  const now = writeSortable(parts.clock.now())
  const db = parts.database.read
  const estimate = await estimateTag(db, capability)
  const rows = await searchAgents(
    db,
    capability,
    now,
    {
      limit: page.limit + 1,
      offset: page.offset,
      after: readPlace(AGENT_ORDER, page.after),
    },
    estimate,
  )
  const shown = rows.slice(0, page.limit)
  const end = rows.length > page.limit ? shown.at(-1) : undefined
  const last = end === undefined ? undefined : writePlace(AGENT_ORDER, end)
  const paging = await pageMembers(page, shown.length, last, (bound) =>
    countMatches(db, capability, now, bound, estimate),
  )
  return jsonText(responseText(capability, shown, writeJson(paging)))
}

/** Joins stored texts. Descriptors are never parsed and serialised again. */
function responseText(capability: string, shown: readonly AgentRow[], paging: string): string {
  const agents = shown.map((agent) => agent.descriptor_json).join(',')
  const more = paging === '{}' ? '' : `,${paging.slice(1, -1)}`
  return `{"count":${shown.length},"capability":${canonicalJson(capability)},"agents":[${agents}]${more}}`
}

/** Rows when the caller does not say how many. */
const DEFAULT_ROWS = 50

/**
 * GET /admin/agents/capabilities
 * Lists capabilities with their number of agents, from the counters that searches use. An expired agent counts until
 * the purge, at most about 30 seconds.
 */
export async function capabilities(call: OperatorCall, parts: AgentsParts): Promise<JsonObject> {
  const q = readTextFilter(call.query, 'q')
  const { limit, after: text } = readPage(call.query, DEFAULT_ROWS)
  const after = readPlace(CAPABILITY_ORDER, text)
  const rows = await listCapabilities(parts.database, q, { after, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const isWhole = after === undefined && last === undefined
  return {
    count: shown.length,
    capabilities: shown.map(({ capability, agents }) => ({ capability, agents })),
    next_cursor: last === undefined ? null : writeCursor(writePlace(CAPABILITY_ORDER, last)),
    total: isWhole ? shown.length : await countCapabilities(parts.database, q, LIMITS.listCountMax),
  }
}
