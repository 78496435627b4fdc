import { LIMITS } from '@chancery/contract'
import { type RawBuilder, sql } from 'kysely'
import { countUpTo } from '../../../database/large-tables.ts'
import type { Database } from '../../../database/database.ts'
import { beginsWith, byBytes, readCandidatesOf } from '../../../database/index-source.ts'
import type { Candidate, IndexSource, Position } from '../../../database/index-source.ts'
import { IdStatement } from '../../../database/statement.ts'
import { countMatches, estimateTag, searchAgents } from './search.ts'

/** Ways to walk over the agents, each served by one index. */
export type AgentSegment = 'newest' | 'capability' | 'host' | 'expiry' | 'node' | 'q-agent' | 'q-host' | 'q-capability'

export interface AgentFilter {
  readonly q: string | undefined
  readonly capability: string | undefined
  readonly host: string | undefined
  readonly node_public_key: string | undefined
  readonly expires_before: string | undefined
}

export interface AgentWalk {
  readonly now: string
  readonly filter: AgentFilter
}

/** The next candidates of a segment after a position, in the order of its index. */
export async function readAgentCandidates(
  database: Pick<Database, 'engine' | 'read'>,
  segment: AgentSegment,
  walk: AgentWalk,
  bounds: { readonly after: Position | undefined; readonly limit: number },
): Promise<readonly Candidate[]> {
  if (segment !== 'capability') return readCandidatesOf(database, sourceOf(segment, walk, database.engine), bounds)
  const { capability = '' } = walk.filter
  const after =
    bounds.after === undefined ? undefined : { registered_at: bounds.after.at, node_public_key: bounds.after.id }
  const page = { limit: bounds.limit, offset: 0, after }
  const rows = await searchAgents(
    database.read,
    capability,
    walk.now,
    page,
    await estimateTag(database.read, capability),
  )
  return rows.map(({ node_public_key: key, registered_at: at }) => ({ key, at, id: key }))
}

const KEYED = { table: 'agent_registrations', key: 'node_public_key', id: 'node_public_key' } as const
const isLive = (now: string): RawBuilder<unknown> => sql`listed = 1 and expires_at > ${now}`

/** A scalar subquery, so that the planner cannot turn it into a join over the whole registry. */
const hasLiveAgent = (now: string): RawBuilder<unknown> =>
  sql`(select 1 from agent_registrations r where r.node_public_key = agent_capabilities.node_public_key and r.expires_at > ${now}) is not null`

function sourceOf(
  segment: Exclude<AgentSegment, 'capability'>,
  { now, filter: { q = '', host = '', node_public_key = '', expires_before = '' } }: AgentWalk,
  engine: Database['engine'],
): IndexSource {
  const live = isLive(now)
  switch (segment) {
    case 'newest':
      return { ...KEYED, at: 'registered_at', descending: true, where: live }
    case 'host':
      return { ...KEYED, at: 'host', bytes: true, where: sql`${live} and ${byBytes('host', engine)} = ${host}` }
    case 'expiry':
      return { ...KEYED, at: 'expires_at', where: sql`${live} and expires_at < ${expires_before}` }
    case 'node':
      return { ...KEYED, at: 'registered_at', where: sql`${live} and node_public_key = ${node_public_key}` }
    case 'q-agent':
      return { ...KEYED, at: 'agent_id', bytes: true, where: sql`${live} and ${beginsWith('agent_id', q, engine)}` }
    case 'q-host':
      return { ...KEYED, at: 'host', bytes: true, where: sql`${live} and ${beginsWith('host', q, engine)}` }
    case 'q-capability':
      return {
        ...KEYED,
        table: 'agent_capabilities',
        at: 'capability',
        bytes: true,
        where: sql`${beginsWith('capability', q, engine)} and ${hasLiveAgent(now)}`,
      }
  }
}

export interface ListedAgent {
  readonly node_public_key: string
  readonly agent_id: string
  readonly host: string | null
  readonly descriptor_json: string
  /** Sorted by code points. */
  readonly capabilities_json: string
  readonly expires_at: string
}

const READ_ROWS = new IdStatement<ListedAgent>(
  'listed-agents',
  (ids) => `select r.node_public_key, r.agent_id, r.host, r.descriptor_json, r.capabilities_json, r.expires_at
    from ${ids} join agent_registrations r on r.node_public_key = t.id and r.listed = 1`,
)

export function readListedAgents(database: Database, keys: readonly string[]): Promise<readonly ListedAgent[]> {
  return READ_ROWS.run(database, database.read, keys)
}

const BOUND = LIMITS.listCountMax

/** Counts the agents of these segments, exactly up to 10,000 and null above. No other filter is applied. */
export async function countWalk(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  segments: readonly AgentSegment[],
  walk: AgentWalk,
): Promise<number | null> {
  const { capability = '', q = '' } = walk.filter
  const [first = 'newest'] = segments
  if (first === 'capability')
    return countMatches(read, capability, walk.now, BOUND, await estimateTag(read, capability))
  if (segments.length === 1) {
    const { table, where } = sourceOf(first, walk, engine)
    return countUpTo(read, sql`select 1 from ${sql.table(table)} where ${where}`, BOUND)
  }
  // Postings of an expired agent count until the purge: reading each agent would take ten times as long.
  const postings = sql`select node_public_key from agent_capabilities where ${beginsWith('capability', q, engine)}`
  // An agent may have many of these postings, so above the bound the number of agents is not known.
  if ((await countUpTo(read, postings, BOUND)) === null) return null
  const keysOf = (segment: 'q-agent' | 'q-host'): RawBuilder<unknown> =>
    sql`select node_public_key from agent_registrations where ${sourceOf(segment, walk, engine).where}`
  // Parts of a union may have a limit only as subqueries.
  const parts = [keysOf('q-agent'), keysOf('q-host'), postings].map(
    (part, at) => sql`select node_public_key from (${part} limit ${BOUND + 1}) ${sql.ref(`part_${at}`)}`,
  )
  return countUpTo(read, sql.join(parts, sql` union `), BOUND)
}
