import { Refusal } from '@chancery/contract'
import { type JsonObject, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { findTreaty, markTreatyRevoked } from './queries.ts'

/**
 * POST /admin/recognition-treaties/{treaty_id}/revoke
 * Ends recognition. Repeating it keeps the first time and reason.
 */
export async function revoke(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const treaty_id = call.params['treaty_id'] ?? ''
  if (readDryRun(call.body)) return preview(parts, treaty_id)
  return parts.database.write(async (tx) => {
    await tx.lock('treaties')
    if ((await findTreaty(parts.database, treaty_id, tx.query)) === undefined) throw new Refusal('treaty_not_found')
    if (!(await markTreatyRevoked(tx, treaty_id, writeSortable(parts.clock.now()), reason)))
      return { treaty_id, status: 'revoked' }
    await tx.raiseVersion('treaties')
    await parts.audit.record(tx, {
      type: 'recognition_treaty_revoked',
      details: { treaty_id, reason, ...requestDetails(call) },
    })
    return { treaty_id, status: 'revoked' }
  })
}

/** Returns the paths between sovereigns that would be lost. Changes nothing. */
async function preview(parts: RecognitionTreatiesParts, treaty_id: string): Promise<JsonObject> {
  const stored = await findTreaty(parts.database, treaty_id)
  if (stored === undefined) throw new Refusal('treaty_not_found')
  const loss = await parts.connectome.previewTreatyEnd(treaty_id)
  return {
    dry_run: true,
    treaty_id,
    status: stored.status,
    would_change: stored.status !== 'revoked',
    paths_lost: loss,
    attestations_no_longer_accepted: {
      issuer_sovereign_id: stored.subject_sovereign_id,
      all: loss.direct_recognition_lost,
    },
  }
}
