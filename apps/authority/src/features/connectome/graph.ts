import type { Call, CachedDocument } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'
import { readReported } from './requests.ts'

/**
 * GET /recognition-graph
 * Returns the recognition graph. All other views are derived from it. It is not a source of trust.
 * `reported=include` adds the treaties that partners report; the digest of the graph is without them.
 */
export async function graph(call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  const name = readReported(call.query, 'exclude') ? 'graph-with-reported' : 'graph'
  return (await parts.graph.current(parts)).document(name)
}
