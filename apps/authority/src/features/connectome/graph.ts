import type { Call, CachedDocument } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'

/**
 * GET /recognition-graph
 * Who recognises whom: the view every other one derives from, and no source of trust itself.
 */
export async function graph(_call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  return (await parts.graph.current(parts)).document('graph')
}
