import type { Feature } from '../../core.ts'
import type { ReferenceParts } from './parts.ts'
import { referenceRoutes } from './routes.ts'

export function openReference(parts: ReferenceParts): Feature {
  return { routes: referenceRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
