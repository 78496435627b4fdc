import type { Call, CachedDocument } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'

/**
 * GET /recognition-graph
 * Returns the recognition graph. All other views are derived from it. It is not a source of trust.
 */
export async function graph(_call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  return (await parts.graph.current(parts)).document('graph')
}
