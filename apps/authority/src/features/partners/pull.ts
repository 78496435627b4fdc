import { type PartnerPull, Refusal, partners } from '@chancery/contract'
import { SECOND, readInstant } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { readForm } from '../../requests/read-fields.ts'
import { requirePartner } from './find.ts'
import { claim, performPull } from './perform-pull.ts'
import type { PartnersState } from './state.ts'
import { showPartner } from './view.ts'

const LONGEST_MS = 330_000
const ONE_IN = 10n * SECOND

/**
 * POST /admin/partners/{sovereign_id}/pull
 * Reads the published material of a partner now.
 */
export async function pull(call: OperatorCall, parts: PartnersState): Promise<PartnerPull> {
  readForm(partners.pull.body, call.body)
  const row = await requirePartner(parts.database.read, call)
  const wait = (readInstant(row.asked_at ?? '') ?? 0n) + ONE_IN - parts.clock.now()
  if (wait > 0n && wait <= ONE_IN)
    throw new Refusal('rate_limit_exceeded', {}, { retryAfterSeconds: Number(wait / SECOND) + 1 })
  const claimed = await claim(parts, row.sovereign_id, true)
  if (claimed === undefined) throw new Refusal('pull_in_progress')
  const finished = await performPull(parts, claimed, AbortSignal.timeout(LONGEST_MS))
  if (finished === undefined) throw new Refusal('pull_in_progress')
  return { outcome: finished.outcome, changed: finished.changed, partner: await showPartner(parts, finished.row) }
}
