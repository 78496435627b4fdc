import { LIMITS } from '@chancery/contract'
import { sql } from 'kysely'
import { countUpTo } from '../../../database/large-tables.ts'
import type { Reader } from '../../../database/database.ts'
import { type Place, inOrder } from '../../../database/list-query.ts'
import { STORED_TIME } from '../../../requests/list-position.ts'

export interface AgentRow {
  readonly node_public_key: string
  readonly registered_at: string
  readonly descriptor_json: string
}

/** Newest first. */
export const AGENT_ORDER = [
  { column: 'registered_at', descending: true, form: STORED_TIME },
  { column: 'node_public_key', form: /[A-Za-z0-9+/=]{44}/ },
] as const

export type AgentPosition = Place<typeof AGENT_ORDER>

export interface SearchPage {
  readonly limit: number
  readonly offset: number
  readonly after: AgentPosition | undefined
}

/**
 * Newest first. There are two plans for the same rows: a rare tag starts from its postings and sorts them; a popular
 * one reads the registrations from the newest on and keeps those with the tag. The plan that reads fewer rows is used,
 * so the cost depends on the page and not on the registry (docs/decisions/0008).
 */
export async function searchAgents(
  db: Reader,
  capability: string,
  now: string,
  page: SearchPage,
  { postings, agents }: Estimate,
): Promise<readonly AgentRow[]> {
  if (postings === 0) return []
  const isRare = postings * postings <= (page.limit + page.offset + 1) * Math.max(agents, 1)
  return isRare ? fromPostings(db, capability, now, page) : fromNewest(db, capability, now, page)
}

/** How common a tag is, and the approximate size of the registry. Neither is counted. */
export interface Estimate {
  readonly postings: number
  readonly agents: number
}

/** The tag's counter; the counter of the tag that most agents carry is a good enough measure of the registry. */
export async function estimateTag(db: Reader, capability: string): Promise<Estimate> {
  const row = await db
    .selectNoFrom((eb) => [
      eb.selectFrom('agent_capability_counts').select('agents').where('capability', '=', capability).as('postings'),
      eb
        .selectFrom('agent_capability_counts')
        .select((each) => each.fn.max('agents').as('agents'))
        .as('agents'),
    ])
    .executeTakeFirst()
  return { postings: Math.max(0, Number(row?.postings ?? 0)), agents: Number(row?.agents ?? 0) }
}

function fromPostings(db: Reader, capability: string, now: string, page: SearchPage): Promise<readonly AgentRow[]> {
  const query = selectMatches(db, capability, now).select(['r.node_public_key', 'r.registered_at', 'r.descriptor_json'])
  return inOrder(query, AGENT_ORDER, page, 'r').execute()
}

function selectMatches(db: Reader, capability: string, now: string) {
  return db
    .selectFrom('agent_capabilities as p')
    .innerJoin('agent_registrations as r', 'r.node_public_key', 'p.node_public_key')
    .where('p.capability', '=', capability)
    .where('r.expires_at', '>', now)
}

/** The probe is a scalar subquery, so that the planner cannot turn it into a join over the whole posting list. */
function fromNewest(db: Reader, capability: string, now: string, page: SearchPage): Promise<readonly AgentRow[]> {
  const has = sql<boolean>`(select 1 from agent_capabilities p where p.capability = ${capability} and p.node_public_key = r.node_public_key) is not null`
  const query = db
    .selectFrom('agent_registrations as r')
    .select(['r.node_public_key', 'r.registered_at', 'r.descriptor_json'])
    .where('r.expires_at', '>', now)
    .where(has)
  return inOrder(query, AGENT_ORDER, page, 'r').execute()
}

/** Exact up to the limit, null above (protocol/core 24). The counter shows when counting would exceed it. */
export async function countMatches(
  db: Reader,
  capability: string,
  now: string,
  bound: number,
  { postings }: Estimate,
): Promise<number | null> {
  if (postings > bound && !(await hasManyExpired(db, now, postings - bound))) return null
  return countUpTo(db, selectMatches(db, capability, now), bound)
}

/** Postings of expired agents count until the purge: only if so many wait for it could the true number be lower. */
async function hasManyExpired(db: Reader, now: string, atLeast: number): Promise<boolean> {
  const expired = db.selectFrom('agent_registrations').where('listed', '=', 1).where('expires_at', '<=', now)
  return (await countUpTo(db, expired, Math.min(atLeast, LIMITS.listCountMax) - 1)) === null
}
