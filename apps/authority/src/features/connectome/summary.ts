import type { JsonObject } from '@chancery/protocol'
import type { CachedDocument, Call, Query } from '@chancery/service-kit'
import type { ConnectomeState } from './graph-cache.ts'
import { readMaterialPage } from './views.ts'
import { Refusal } from '@chancery/contract'

/** Whether a view has what partners report. */
export function readReported(query: Query, absent: 'include' | 'exclude'): boolean {
  const given = query.first('reported') ?? absent
  if (given !== 'include' && given !== 'exclude') throw new Refusal('invalid_input', { field: 'reported' })
  return given === 'include'
}

/**
 * GET /connectome.json
 * Returns the graph in reading order, with counts and the sovereigns that each imported revocation affects. It has at
 * most 10,000 rows of revoked material; `view=revoked` returns those of the graph in pages. `view=edges` returns only its
 * edges, as columns, for maps of large graphs.
 */
export async function summary(call: Call, parts: ConnectomeState): Promise<CachedDocument | JsonObject> {
  const view = call.query.first('view')
  const asked = view === 'revoked' ? readMaterialPage(call.query) : undefined
  const isWide = readReported(call.query, 'exclude')
  const graph = await parts.graph.current(parts)
  if (asked !== undefined) return graph.materialPage(asked)
  if (view === 'edges') return graph.document(isWide ? 'edges-with-reported' : 'edges')
  return graph.document('connectome')
}
