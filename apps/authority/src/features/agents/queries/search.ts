import { LIMITS } from '@chancery/contract'
import { sql } from 'kysely'
import type { Reader } from '../../../database/database.ts'

export interface AgentRow {
  readonly node_public_key: string
  readonly registered_at: string
  readonly descriptor_json: string
}

/** A position in the order (registered_at descending, key ascending). */
export interface AgentPosition {
  readonly registered_at: string
  readonly node_public_key: string
}

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
  let query = db
    .selectFrom('agent_capabilities as p')
    .innerJoin('agent_registrations as r', 'r.node_public_key', 'p.node_public_key')
    .select(['r.node_public_key', 'r.registered_at', 'r.descriptor_json'])
    .where('p.capability', '=', capability)
    .where('r.expires_at', '>', now)
  if (page.after !== undefined) query = query.where(isAfter('r', page.after))
  return query
    .orderBy('r.registered_at', 'desc')
    .orderBy('r.node_public_key')
    .offset(page.offset)
    .limit(page.limit)
    .execute()
}

/** The probe is a scalar subquery, so that the planner cannot turn it into a join over the whole posting list. */
function fromNewest(db: Reader, capability: string, now: string, page: SearchPage): Promise<readonly AgentRow[]> {
  const has = sql<boolean>`(select 1 from agent_capabilities p where p.capability = ${capability} and p.node_public_key = r.node_public_key) is not null`
  let query = db
    .selectFrom('agent_registrations as r')
    .select(['r.node_public_key', 'r.registered_at', 'r.descriptor_json'])
    .where('r.expires_at', '>', now)
    .where(has)
  if (page.after !== undefined)
    query = query.where(isAfter('r', page.after)).where('r.registered_at', '<=', page.after.registered_at)
  return query
    .orderBy('r.registered_at', 'desc')
    .orderBy('r.node_public_key')
    .offset(page.offset)
    .limit(page.limit)
    .execute()
}

function isAfter(table: 'r', place: AgentPosition): ReturnType<typeof sql<boolean>> {
  const [at, key] = [sql.ref(`${table}.registered_at`), sql.ref(`${table}.node_public_key`)]
  return sql<boolean>`(${at} < ${place.registered_at} or (${at} = ${place.registered_at} and ${key} > ${place.node_public_key}))`
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
  const matches = db
    .selectFrom('agent_capabilities as p')
    .innerJoin('agent_registrations as r', 'r.node_public_key', 'p.node_public_key')
    .select('p.node_public_key')
    .where('p.capability', '=', capability)
    .where('r.expires_at', '>', now)
    .limit(bound + 1)
  const row = await db
    .selectFrom(matches.as('m'))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  const count = Number(row?.count ?? 0)
  return count > bound ? null : count
}

/** Postings of expired agents count until the purge: only if so many wait for it could the true number be lower. */
async function hasManyExpired(db: Reader, now: string, atLeast: number): Promise<boolean> {
  const expired = db
    .selectFrom('agent_registrations')
    .select('node_public_key')
    .where('listed', '=', 1)
    .where('expires_at', '<=', now)
    .limit(Math.min(atLeast, LIMITS.listCountMax))
  const row = await db
    .selectFrom(expired.as('e'))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0) >= Math.min(atLeast, LIMITS.listCountMax)
}
