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
import { READ_FEED_AGES } from './queries/partners.ts'
import type { PartnersState } from './state.ts'
import { treaties } from './treaties.ts'
import { update } from './update.ts'

export { STATES } from './partner-state.ts'
export type { State as PartnerState } from './partner-state.ts'
export { countKeyChanges, countReportedTreaties, countStates, describePartners } from './summary.ts'
export type { PartnerLine, PartnersView } from './summary.ts'

export interface Partners extends Feature {
  /** Keys that may sign a record of this date. None for a sovereign that is no partner. */
  acceptedKeys(sovereign_id: string, date: Instant): Promise<readonly string[]>
  /** How old the feed of a partner may be in decisions. Null: as the setting says. */
  maxFeedAge(sovereign_id: string): Promise<number | null>
}

/** Other sovereigns whose published material is read (protocol/partners). */
export function openPartners(given: PartnersParts): Partners {
  const checks = new MaterialChecks()
  const feedAges = new BatchedRead(
    (ids) => given.database.run(READ_FEED_AGES, ids),
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
    maxFeedAge: (sovereign_id) => feedAges.find(sovereign_id).then((row) => row?.max_feed_age_seconds ?? null),
    async close() {
      await feedAges.close()
      await checks.close()
    },
  }
}
