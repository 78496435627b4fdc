import type { Call, CachedDocument } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'

/**
 * GET /atlas.json
 * Returns the map and the digest of its graph.
 */
export async function atlas(_call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  return (await parts.graph.current(parts)).document('atlas')
}
