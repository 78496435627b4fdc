import { writeSortable } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import { removeForwardedEvents } from './audit/remove.job.ts'
import { purgeNonces } from './auth/nonces.ts'
import { purgeAgents } from './features/agents/purge.job.ts'
import { purgeOfferMakers } from './features/agreements/store.ts'
import { removeCertificates } from './features/enrollment/remove-certificates.job.ts'
import { removeEnded } from './features/enrollment/retention.job.ts'
import { supersedeUsed } from './features/enrollment/supersede-used.job.ts'
import { removeOldRejections } from './features/evidence/rejections.job.ts'
import { sweepRemoved } from './features/evidence/sweep.job.ts'
import { removeOldLists } from './features/crl/remove.job.ts'
import { refreshList } from './features/crl/upkeep.ts'
import { checkRecords } from './features/health/check-records.job.ts'
import { holdDocuments } from './features/health/public-reads.ts'
import { keepFeed } from './features/revocation-feeds/index.ts'
import { recordActivity } from './features/dashboard/activity.ts'
import type { Office } from './office.ts'
import { keepSettledTimes } from './settled-time.job.ts'
import { foldCertificateCounts } from './store/certificate-counts.ts'
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
    { name: 'crl-removal', everySeconds: 600, run: byRightClock((signal) => removeOldLists(office, signal)) },
    { name: 'feed-upkeep', everySeconds: 60, run: () => keepFeed(office) },
    { name: 'supersede-used', everySeconds: 60, run: byRightClock(() => supersedeUsed(office)) },
    { name: 'evidence-anchor', everySeconds: 60, run: () => office.evidence.anchorNow(office) },
    { name: 'evidence-log', everySeconds: 60, run: () => office.evidence.growLog(office) },
    { name: 'evidence-rejections', everySeconds: 15, run: () => office.evidence.appendSummaries(office) },
    { name: 'evidence-sweep', everySeconds: 60, run: (signal) => sweepRemoved(office, signal) },
    // At the start, so that a row that was edited meanwhile is told before somebody asks for it.
    { name: 'record-check', everySeconds: 60, run: () => checkRecords(office) },
    { name: 'clock-check', everySeconds: 30, run: () => office.clockWatch.check() },
    { name: 'high-water', everySeconds: 5, run: () => office.rollbackWatch.keep() },
    { name: 'key-watch', everySeconds: 5, run: () => office.keyWatch.check() },
    { name: 'operator-settings', everySeconds: 60, run: () => office.keyringWatch.run(office) },
    { name: 'hold-documents', everySeconds: 30, run: () => holdDocuments(office) },
    // Without it a loss would be told only when somebody asks.
    { name: 'readiness', everySeconds: 5, run: async () => void (await office.readiness.read()) },
    { name: 'health-watch', everySeconds: 30, run: () => office.healthWatch.run(office) },
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
    {
      name: 'purge-offer-makers',
      everySeconds: 600,
      run: byRightClock(() => purgeOfferMakers(office.store.db, writeSortable(office.settledTime.daily.now()))),
    },
    // Before the others have much to do: they forget by it.
    { name: 'settled-time', everySeconds: 60, run: byRightClock(() => keepSettledTimes(office)) },
    {
      name: 'retention',
      everySeconds: 600,
      run: byRightClock(async (signal) => {
        await removeEnded(office, signal)
        await removeOldRejections(office)
      }),
    },
    {
      name: 'certificate-removal',
      everySeconds: 600,
      run: byRightClock((signal) => removeCertificates(office, signal)),
    },
    { name: 'audit-removal', everySeconds: 600, run: byRightClock((signal) => removeForwardedEvents(office, signal)) },
    { name: 'certificate-counts', everySeconds: 60, run: (signal) => foldCertificateCounts(office.store, signal) },
    { name: 'purge-limiter-windows', everySeconds: 60, run: () => purgeLimiterWindows(office.store, office.clock) },
  ]
}
