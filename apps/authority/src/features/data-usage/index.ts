import type { Feature } from '../../core.ts'
import type { DataUsageParts } from './parts.ts'
import { dataUsageRoutes } from './routes.ts'

export function openDataUsage(parts: DataUsageParts): Feature {
  return { routes: dataUsageRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
