import type { Feature } from '../../core.ts'
import type { BoundaryParts } from './parts.ts'
import { boundaryRoutes } from './routes.ts'

export function openBoundary(parts: BoundaryParts): Feature {
  return { routes: boundaryRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
