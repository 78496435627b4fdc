import { LIMITS, Refusal } from '@chancery/contract'
import { type JsonObject, isPlainText } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { readPage, writeCursor } from '../../requests/paging.ts'
import { readTextFilter } from '../../requests/read-filters.ts'
import type { AgentsParts } from './parts.ts'
import { type CapabilityRow, countCapabilities, listCapabilities } from './queries/capabilities.ts'

/** Rows when the caller does not say how many. */
const DEFAULT_ROWS = 50

/**
 * GET /admin/agents/capabilities
 * Lists capabilities with their number of agents, from the counters that searches use. An expired agent counts until
 * the purge, at most about 30 seconds.
 */
export async function capabilities(call: OperatorCall, parts: AgentsParts): Promise<JsonObject> {
  const q = readTextFilter(call.query, 'q')
  const page = readPage(call.query)
  const limit = call.query.first('limit') === undefined ? DEFAULT_ROWS : page.limit
  const after = readPlace(page.after)
  const rows = await listCapabilities(parts.database, q, { after, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const isWhole = after === undefined && last === undefined
  return {
    count: shown.length,
    capabilities: shown.map(({ capability, agents }) => ({ capability, agents })),
    next_cursor: last === undefined ? null : writeCursor(`${last.agents}|${last.capability}`),
    total: isWhole ? shown.length : await countCapabilities(parts.database, q, LIMITS.listCountMax),
  }
}

function readPlace(text: string | undefined): CapabilityRow | undefined {
  if (text === undefined) return undefined
  const [, agents = '', capability = ''] = /^(\d{1,15})\|(.{1,256})$/su.exec(text) ?? []
  if (!isPlainText(capability, 256)) throw new Refusal('invalid_page')
  return { agents: Number(agents), capability }
}
