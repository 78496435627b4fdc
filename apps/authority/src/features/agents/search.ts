import { Refusal } from '@chancery/contract'
import { canonicalJson, writeJson, writeSortable } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { AgentsState } from './state.ts'
import { pageMembers, readPage } from '../../requests/paging.ts'
import { type AgentPosition, type AgentRow, countMatches, estimateTag, searchAgents } from './queries/search.ts'

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
      after: readPosition(page.after),
    },
    estimate,
  )
  const shown = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? writePosition(shown.at(-1)) : undefined
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

function writePosition(row: AgentRow | undefined): string {
  return `${row?.registered_at ?? ''}|${row?.node_public_key ?? ''}`
}

function readPosition(place: string | undefined): AgentPosition | undefined {
  if (place === undefined) return undefined
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|([A-Za-z0-9+/=]{44})$/.exec(place)
  if (match === null) throw new Refusal('invalid_page')
  return { registered_at: match[1] ?? '', node_public_key: match[2] ?? '' }
}
