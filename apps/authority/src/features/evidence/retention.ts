import { Refusal } from '@chancery/contract'
import { DAY, shape, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readOr } from '../../reading.ts'
import { LeaseLost, withLease } from '../../store/leases.ts'
import { removePrefix } from './removal.ts'
import { deleteOldRejections } from './store.ts'

/** A hundred years; more would leave the years a timestamp can have. */
const MAX_DAYS = 36_500
const LEASE_SECONDS = 300

/**
 * POST /admin/evidence/retention/apply
 * One run at a time over all instances. A run that was paused too long loses its lease, and its writes fail.
 */
export async function retention(call: OperatorCall, office: Office): Promise<Answer> {
  const days = readDays(call.body)
  // Its checkpoint is an entry: over a store that lost its end it would take a number that was given out before.
  if (office.rollbackWatch.isEvidenceBehind) throw new Refusal('evidence_store_unavailable')
  let answer: string | undefined
  try {
    await withLease(office, 'evidence-retention', LEASE_SECONDS, async (lease) => {
      const now = office.clock.now()
      const cutoff = now - BigInt(days) * DAY
      answer = await removePrefix(office, { lease, now, cutoff, cause: causedBy(call) })
      await deleteOldRejections(office.store.db, writeSortable(cutoff))
    })
  } catch (error) {
    if (error instanceof LeaseLost) throw new Refusal('retention_in_progress', {}, { cause: error })
    throw error
  }
  if (answer === undefined) throw new Refusal('retention_in_progress')
  return jsonText(answer)
}

function readDays(body: JsonObject): number {
  const given = body['older_than_days']
  if (given === undefined) throw new Refusal('invalid_retention')
  return readOr('invalid_retention', () => shape.integer(1, MAX_DAYS)(given, 'older_than_days'))
}
