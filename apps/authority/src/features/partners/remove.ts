import { partners } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readForm } from '../../requests/read-fields.ts'
import { requirePartner } from './view.ts'
import { deletePartner, listOwnTreaties } from './queries/partners.ts'
import type { PartnersState } from './alarms.ts'

/**
 * POST /admin/partners/{sovereign_id}/remove
 * Ends the pulls of a partner and removes the treaties it reported. Own treaties and imported revocations stay.
 */
export async function remove(call: OperatorCall, parts: PartnersState): Promise<JsonObject> {
  const { sovereign_id } = await requirePartner(parts.database.read, call)
  const { reason, dry_run } = readForm(partners.remove.body, call.body)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    await requirePartner(tx.query, call)
    const treaties = await listOwnTreaties(tx.query, parts.network.name, parts.clock.now(), sovereign_id)
    const treaties_in_force = treaties.map((treaty) => treaty.treaty_id)
    if (dry_run) return { sovereign_id, removed: false, dry_run: true, treaties_in_force }
    await deletePartner(tx, sovereign_id)
    await tx.raiseVersion('partners')
    const details = { sovereign_id, reason, treaties_in_force: treaties.length, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_removed', details })
    return { sovereign_id, removed: true, treaties_in_force }
  })
}
