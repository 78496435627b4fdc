import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../reading.ts'
import { bumpHead } from '../../store/heads.ts'
import { foreseeTreatyLoss } from '../connectome/index.ts'
import { findTreaty, markTreatyRevoked } from './store.ts'

/**
 * POST /admin/recognition-treaties/{treaty_id}/revoke
 * Ends recognition. Repeating it keeps the first time and reason.
 */
export async function revoke(call: OperatorCall, office: Office): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const treaty_id = call.params['treaty_id'] ?? ''
  if (readDryRun(call.body)) return foresee(office, treaty_id)
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'treaties')
    if ((await findTreaty(office.store, treaty_id, tx)) === undefined) throw new Refusal('treaty_not_found')
    if (!(await markTreatyRevoked(tx, treaty_id, writeSortable(office.clock.now()), reason)))
      return { treaty_id, status: 'revoked' }
    await bumpHead(tx, 'treaties')
    await recordAudit(tx, office, {
      type: 'recognition_treaty_revoked',
      details: { treaty_id, reason, ...causedBy(call) },
    })
    return { treaty_id, status: 'revoked' }
  })
}

/** Which paths between sovereigns would be lost, without touching anything. */
async function foresee(office: Office, treaty_id: string): Promise<JsonObject> {
  const held = await findTreaty(office.store, treaty_id)
  if (held === undefined) throw new Refusal('treaty_not_found')
  const loss = await foreseeTreatyLoss(office, treaty_id)
  return {
    dry_run: true,
    treaty_id,
    status: held.status,
    would_change: held.status !== 'revoked',
    paths_lost: loss,
    attestations_no_longer_accepted: {
      issuer_sovereign_id: held.subject_sovereign_id,
      all: loss.direct_recognition_lost,
    },
  }
}
