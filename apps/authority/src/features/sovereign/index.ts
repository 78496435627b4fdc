import type { Feature } from '../../core.ts'
import type { SovereignParts } from './parts.ts'
import { sovereignRoutes } from './routes.ts'

export function openSovereign(parts: SovereignParts): Feature {
  return { routes: sovereignRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
