import type { Feature } from '../../core.ts'
import type { OperatorKeysParts } from './parts.ts'
import { operatorKeyRoutes } from './routes.ts'

export function openOperatorKeys(parts: OperatorKeysParts): Feature {
  return { routes: operatorKeyRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
