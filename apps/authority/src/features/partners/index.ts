import { partners } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import type { Feature } from '../../core.ts'
import { bind } from '../../auth/access.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { add } from './add.ts'
import { clearAlarm } from './clear-alarm.ts'
import { find } from './find.ts'
import { list } from './list.ts'
import { MaterialChecks } from './material-checks.ts'
import { findAcceptedKeys } from './known-partner.ts'
import type { PartnersParts } from './parts.ts'
import { pull } from './pull.ts'
import { pullDue } from './pull.job.ts'
import { remove } from './remove.ts'
import { repin } from './repin.ts'
import { READ_FRESHNESS } from './queries/partners.ts'
import type { PartnersState } from './state.ts'
import { treaties } from './treaties.ts'
import { update } from './update.ts'

export { STATES } from './partner-state.ts'
export type { State as PartnerState } from './partner-state.ts'
export { countKeyChanges, countReportedTreaties, countStates, describePartners } from './summary.ts'
export type { DescribedPartners, PartnerLine, PartnersView } from './summary.ts'

export interface PartnerFreshness {
  /** How old the feed may be in decisions. Null: as the setting says. */
  readonly max_feed_age_seconds: number | null
  /** The last good pull that also imports the feed. Null: there was none. */
  readonly contact_at: string | null
}

export interface Partners extends Feature {
  /** Keys that may sign a record of this date. None for a sovereign that is no partner. */
  acceptedKeys(sovereign_id: string, date: Instant): Promise<readonly string[]>
  freshness(sovereign_id: string): Promise<PartnerFreshness>
}

/** Other sovereigns whose published material is read (protocol/partners). */
export function openPartners(given: PartnersParts): Partners {
  const checks = new MaterialChecks()
  const freshness = new BatchedRead(
    (ids) => given.database.run(READ_FRESHNESS, ids),
    (row) => row.sovereign_id,
  )
  const parts: PartnersState = { ...given, checks }
  const own =
    <Value>(handle: (call: OperatorCall, parts: PartnersState) => Promise<Value>) =>
    (call: OperatorCall): Promise<Value> =>
      handle(call, parts)
  return {
    routes: [
      bind(partners.add, own(add)),
      bind(partners.list, own(list)),
      bind(partners.find, own(find)),
      bind(partners.update, own(update)),
      bind(partners.pull, own(pull)),
      bind(partners.repin, own(repin)),
      bind(partners.clearAlarm, own(clearAlarm)),
      bind(partners.remove, own(remove)),
      bind(partners.treaties, own(treaties)),
    ],
    jobs: [{ name: 'partner-pull', everySeconds: 5, run: (signal) => pullDue(parts, signal) }],
    acceptedKeys: (sovereign_id, date) => findAcceptedKeys(parts, sovereign_id, date),
    freshness: async (sovereign_id) =>
      (await freshness.find(sovereign_id)) ?? { max_feed_age_seconds: null, contact_at: null },
    async close() {
      await freshness.close()
      await checks.close()
    },
  }
}
