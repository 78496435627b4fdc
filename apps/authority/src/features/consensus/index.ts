import type { Feature } from '../../core.ts'
import type { ConsensusParts } from './parts.ts'
import { consensusRoutes } from './routes.ts'

export function openConsensus(parts: ConsensusParts): Feature {
  return { routes: consensusRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
