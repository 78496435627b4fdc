import type { HttpResponse, Call } from '@chancery/service-kit'
import type { DashboardState } from './parts.ts'
import { page } from './page.ts'

/**
 * GET /
 * The dashboard at the root path.
 */
export function home(call: Call, parts: DashboardState): Promise<HttpResponse> {
  return page(call, parts)
}
