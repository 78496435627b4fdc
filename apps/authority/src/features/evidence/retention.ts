import { Refusal } from '@chancery/contract'
import { DAY, shape, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './state.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import { LeaseLostError, withLease } from '../../database/locks/leases.ts'
import { removePrefix } from './removal.ts'
import { deleteOldRejections } from './queries/entries.ts'

/** A hundred years. A larger value would exceed the years of a timestamp. */
const MAX_DAYS = 36_500
const LEASE_SECONDS = 300

/**
 * POST /admin/evidence/retention/apply
 * Runs on one instance at a time. A run that was paused too long loses its lease, and its writes fail.
 */
export async function retention(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const days = readDays(call.body)
  // Its checkpoint is an entry. If the store lost its end, the entry would use a sequence that was already used.
  if (parts.rollback.isEvidenceBehind) throw new Refusal('evidence_store_unavailable', { reason: 'evidence_missing' })
  let answer: string | undefined
  try {
    await withLease(parts, 'evidence-retention', LEASE_SECONDS, async (lease) => {
      const now = parts.clock.now()
      const cutoff = now - BigInt(days) * DAY
      answer = await removePrefix(parts, { lease, now, cutoff, cause: requestDetails(call) })
      await deleteOldRejections(parts.database, writeSortable(cutoff))
    })
  } catch (error) {
    if (error instanceof LeaseLostError) throw new Refusal('retention_in_progress', {}, { cause: error })
    throw error
  }
  if (answer === undefined) throw new Refusal('retention_in_progress')
  return jsonText(answer)
}

function readDays(body: JsonObject): number {
  const given = body['older_than_days']
  if (given === undefined) throw new Refusal('invalid_retention')
  return readOrRefuse('invalid_retention', () => shape.integer(1, MAX_DAYS)(given, 'older_than_days'))
}
