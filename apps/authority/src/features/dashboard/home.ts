import type { Answer, Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { page } from './page.ts'

/**
 * GET /
 * The dashboard, under the address people type.
 */
export function home(call: Call, office: Office): Promise<Answer> {
  return page(call, office)
}
