import { sql } from 'kysely'
import { countUpTo } from '../../../database/large-tables.ts'
import type { Database } from '../../../database/database.ts'
import type { Place } from '../../../database/list-query.ts'
import { ANY_ID } from '../../../requests/list-position.ts'
import { beginsWith, byBytes } from '../../../database/index-source.ts'

export interface CapabilityRow {
  readonly capability: string
  readonly agents: number
}

/** What a cursor names, in either order. */
export const CAPABILITY_ORDER = [
  { column: 'agents', descending: true, form: /\d{1,15}/ },
  { column: 'capability', form: ANY_ID },
] as const

/** The most common first; with a prefix by name. Either order has an index. */
export async function listCapabilities(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  q: string | undefined,
  { after, limit }: { readonly after: Place<typeof CAPABILITY_ORDER> | undefined; readonly limit: number },
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
export function countCapabilities(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  q: string | undefined,
  bound: number,
): Promise<number | null> {
  return countUpTo(read, sql`select 1 from agent_capability_counts where ${capabilitiesLike(q, engine)}`, bound)
}

function capabilitiesLike(q: string | undefined, engine: Database['engine']): ReturnType<typeof sql> {
  return q === undefined ? sql`agents > 0` : sql`agents > 0 and ${beginsWith('capability', q, engine)}`
}
