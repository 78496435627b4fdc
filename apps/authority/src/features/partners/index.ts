import { Refusal, partners } from '@chancery/contract'
import type { Feature } from '../../core.ts'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { add } from './add.ts'
import { clearAlarm } from './clear-alarm.ts'
import { find } from './find.ts'
import { list } from './list.ts'
import { MaterialChecks } from './material-checks.ts'
import type { PartnersParts } from './parts.ts'
import { pull } from './pull.ts'
import { pullDue } from './pull.job.ts'
import { remove } from './remove.ts'
import { repin } from './repin.ts'
import type { PartnersState } from './state.ts'
import { treaties } from './treaties.ts'
import { update } from './update.ts'

export { STATES } from './partner-state.ts'
export { countReportedTreaties, countStates, describePartners } from './summary.ts'
export type { PartnersView } from './summary.ts'

/** Other sovereigns whose published material is read (protocol/between 5). */
export function openPartners(given: PartnersParts): Feature {
  const checks = new MaterialChecks()
  const parts: PartnersState = { ...given, checks }
  const whenOn =
    <Value>(handle: (call: OperatorCall, parts: PartnersState) => Promise<Value>) =>
    (call: OperatorCall): Promise<Value> => {
      if (!parts.settings.partners) throw new Refusal('partners_disabled')
      return handle(call, parts)
    }
  return {
    routes: [
      bind(partners.add, whenOn(add)),
      bind(partners.list, whenOn(list)),
      bind(partners.find, whenOn(find)),
      bind(partners.update, whenOn(update)),
      bind(partners.pull, whenOn(pull)),
      bind(partners.repin, whenOn(repin)),
      bind(partners.clearAlarm, whenOn(clearAlarm)),
      bind(partners.remove, whenOn(remove)),
      bind(partners.treaties, whenOn(treaties)),
    ],
    jobs: [{ name: 'partner-pull', everySeconds: 5, run: (signal) => pullDue(parts, signal) }],
    close: () => checks.close(),
  }
}
