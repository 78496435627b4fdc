import { partners } from '@chancery/contract'
import type { Partner } from '@chancery/contract'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { requirePartner } from './find.ts'
import { introduce } from './introduce.ts'
import { deleteMaterial, updatePartner } from './queries/partners.ts'
import { readForm } from '../../requests/read-fields.ts'
import { checkPin } from './requests.ts'
import type { PartnersState } from './state.ts'
import { NO_FACTS, writeFacts } from './stored-facts.ts'
import { showPartner } from './view.ts'

/**
 * POST /admin/partners/{sovereign_id}/repin
 * Pins other keys. What was read under the former ones is removed; imported revocations stay.
 */
export async function repin(call: OperatorCall, parts: PartnersState): Promise<Partner> {
  const { sovereign_id, url } = await requirePartner(parts.database.read, call)
  const { reason, ...pins } = readForm(partners.repin.body, call.body)
  const pin = await checkPin({ root_public_key: undefined, authority_public_keys: undefined, ...pins })
  const { genesis, metadata_mismatch } = await introduce(parts, url, pin, sovereign_id)
  return parts.database.write(async (tx) => {
    await tx.lock('partners')
    const row = await requirePartner(tx.query, call)
    const changes = {
      pin_json: JSON.stringify(pin),
      stored_json: writeFacts({ ...NO_FACTS, genesis, metadata_mismatch }),
      treaties_as_of: null,
      last_good_pull_at: null,
      // A running pull checked with the former keys.
      pull_token: null,
      pull_until: null,
    }
    await deleteMaterial(tx, sovereign_id)
    await updatePartner(tx, sovereign_id, changes)
    await tx.raiseVersion('partners')
    const details = { sovereign_id, pin_kind: pin.kind, reason, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'partner_repinned', details })
    return showPartner(parts, { ...row, ...changes }, tx.query)
  })
}
