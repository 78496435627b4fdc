import type { HttpResponse, Call } from '@chancery/service-kit'
import type { DashboardParts } from './parts.ts'
import { page } from './page.ts'

/**
 * GET /
 * The dashboard at the root path.
 */
export function home(call: Call, parts: DashboardParts): Promise<HttpResponse> {
  return page(call, parts)
}
