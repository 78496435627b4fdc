import type { Feature } from '../../core.ts'
import type { DisclosureParts } from './parts.ts'
import { disclosureRoutes } from './routes.ts'

export function openDisclosure(parts: DisclosureParts): Feature {
  return { routes: disclosureRoutes(parts), jobs: [], close: () => Promise.resolve() }
}
