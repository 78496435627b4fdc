import { type Partner, Refusal } from '@chancery/contract'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Reader } from '../../database/database.ts'
import { type PartnerRow, findPartner } from './queries/partners.ts'
import type { PartnersState } from './state.ts'
import { showPartner } from './view.ts'

/**
 * GET /admin/partners/{sovereign_id}
 * Returns one partner with its state, keys and alarms.
 */
export async function find(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  return showPartner(parts, await requirePartner(parts.database.read, call))
}

export async function requirePartner(db: Reader, call: OperatorCall): Promise<PartnerRow> {
  const row = await findPartner(db, call.params['sovereign_id'] ?? '')
  if (row === undefined) throw new Refusal('partner_not_found')
  return row
}
