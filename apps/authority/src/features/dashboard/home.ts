import type { HttpResponse, Call } from '@chancery/service-kit'
import type { DashboardParts } from './parts.ts'
import { page } from './page.ts'

/**
 * GET /
 * The dashboard, under the address people type.
 */
export function home(call: Call, parts: DashboardParts): Promise<HttpResponse> {
  return page(call, parts)
}
