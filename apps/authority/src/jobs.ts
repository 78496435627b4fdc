import { writeSortable } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import { purgeNonces } from './auth/nonces.ts'
import { purgeAgents } from './features/agents/purge.job.ts'
import { sweepRemoved } from './features/evidence/sweep.job.ts'
import { refreshList } from './features/crl/upkeep.ts'
import { recordActivity } from './features/dashboard/activity.ts'
import type { Office } from './office.ts'
import { purgeAnswers } from './store/idempotency.ts'
import { purgeLimiterWindows } from './store/shared-limiter.ts'

/** Background work; each statement is bounded, and a run may be repeated at any time by any instance. */
export function authorityJobs(office: Office): readonly Job[] {
  /** Nothing is forgotten while the database says that this clock is wrong: it may have been so from the start. */
  const byRightClock =
    (run: Job['run']): Job['run'] =>
    (signal) =>
      office.clockWatch.isHalted() ? Promise.resolve() : run(signal)
  return [
    { name: 'crl-upkeep', everySeconds: 60, run: () => refreshList(office) },
    { name: 'evidence-anchor', everySeconds: 60, run: () => office.evidence.anchorNow(office) },
    { name: 'evidence-log', everySeconds: 60, run: () => office.evidence.growLog(office) },
    { name: 'evidence-sweep', everySeconds: 60, run: (signal) => sweepRemoved(office, signal) },
    { name: 'clock-check', everySeconds: 30, run: () => office.clockWatch.check() },
    { name: 'high-water', everySeconds: 5, run: () => office.rollbackWatch.keep() },
    { name: 'key-watch', everySeconds: 5, run: () => office.keyWatch.check() },
    { name: 'operator-settings', everySeconds: 60, run: () => office.keyringWatch.run(office) },
    // Twice a minute, so that no minute is left out when a run comes late.
    { name: 'record-activity', everySeconds: 30, run: () => recordActivity(office) },
    { name: 'purge-agents', everySeconds: 30, run: byRightClock((signal) => purgeAgents(office, signal)) },
    {
      name: 'purge-nonces',
      everySeconds: 60,
      run: byRightClock((signal) => purgeNonces(office.store, office.settledTime.nonces, signal)),
    },
    {
      name: 'purge-idempotency-keys',
      everySeconds: 600,
      run: byRightClock(() => purgeAnswers(office.store.db, writeSortable(office.settledTime.daily.now()))),
    },
    { name: 'purge-limiter-windows', everySeconds: 60, run: () => purgeLimiterWindows(office.store, office.clock) },
  ]
}
