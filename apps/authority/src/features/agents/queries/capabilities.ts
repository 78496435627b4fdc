import { sql } from 'kysely'
import type { Database } from '../../../database/database.ts'
import { beginsWith, byBytes } from '../../../database/index-source.ts'

export interface CapabilityRow {
  readonly capability: string
  readonly agents: number
}

/** The most common first; with a prefix by name. Either order has an index. */
export async function listCapabilities(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  q: string | undefined,
  { after, limit }: { readonly after: CapabilityRow | undefined; readonly limit: number },
): Promise<readonly CapabilityRow[]> {
  const name = byBytes('capability', engine)
  const where = capabilitiesLike(q, engine)
  const byName = sql`where ${where} ${after === undefined ? sql`` : sql`and ${name} > ${after.capability}`} order by ${name}`
  const byNumber = sql`where ${where} ${
    after === undefined
      ? sql``
      : sql`and agents <= ${after.agents} and (agents < ${after.agents} or ${name} > ${after.capability})`
  } order by agents desc, ${name}`
  const { rows } = await sql<CapabilityRow>`select capability, agents from agent_capability_counts
    ${q === undefined ? byNumber : byName} limit ${limit}`.execute(read)
  return rows.map(({ capability, agents }) => ({ capability, agents: Number(agents) }))
}

/** Exact up to the bound, null above. */
export async function countCapabilities(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  q: string | undefined,
  bound: number,
): Promise<number | null> {
  const { rows } = await sql<{ readonly count: number }>`select count(*) as count from
    (select 1 from agent_capability_counts where ${capabilitiesLike(q, engine)} limit ${bound + 1}) bounded`.execute(
    read,
  )
  const count = Number(rows[0]?.count ?? 0)
  return count > bound ? null : count
}

function capabilitiesLike(q: string | undefined, engine: Database['engine']): ReturnType<typeof sql> {
  return q === undefined ? sql`agents > 0` : sql`agents > 0 and ${beginsWith('capability', q, engine)}`
}
