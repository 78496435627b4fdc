import type { Partner } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { columnsOf } from './add.ts'
import { requirePartner } from './find.ts'
import { type PartnerRow, updatePartner } from './queries/partners.ts'
import { readUpdateRequest } from './requests.ts'
import type { PartnersState } from './state.ts'
import { nextPull } from './store-pull.ts'
import { choicesOf, showPartner } from './view.ts'

/**
 * POST /admin/partners/{sovereign_id}
 * Changes the members that were sent.
 */
export async function update(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await requirePartner(tx.query, call)
    const columns = columnsOf(readUpdateRequest(call.body, choicesOf(row), parts.settings))
    const isRescheduled = columns.interval_seconds !== row.interval_seconds || columns.paused !== row.paused
    const changes: Partial<PartnerRow> = {
      ...columns,
      ...(isRescheduled
        ? { next_pull_at: writeSortable(nextPull(columns.interval_seconds, 0, parts.clock.now())) }
        : {}),
      // A pull from the old address must not be stored.
      ...(columns.url === row.url ? {} : { pull_token: null, pull_until: null }),
    }
    await updatePartner(tx, row.sovereign_id, changes)
    const fields = Object.keys(call.body).toSorted()
    const details = { sovereign_id: row.sovereign_id, fields, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_changed', details })
    return showPartner(parts, { ...row, ...changes }, tx.query)
  })
}
