import { writeSortable } from '@chancery/protocol'
import type { Job } from '@chancery/service-kit'
import { indexOldSubjects, keepAuditPartitions } from '../audit/index-subjects.job.ts'
import { removeForwardedEvents } from '../audit/remove.job.ts'
import { purgeNonces } from '../auth/nonces.ts'
import { storePurgeClocks, whenClockIsCorrect } from '../clock/purge-clock.ts'
import type { Core } from '../core.ts'
import { sampleRows } from '../database/sizes/measure-tables.ts'
import { purgeLimiterWindows } from '../limits/shared-limiter.ts'
import { purgeStoredResponses } from '../requests/idempotency.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'

/** Background jobs outside the features. Each statement is limited, and any instance may repeat a run at any time. */
export function coreJobs(core: Core, settings: Pick<AuthoritySettings, 'auditKeptDays'>): readonly Job[] {
  const { clockCheck, database, purgeClock } = core
  return [
    { name: 'clock-check', everySeconds: 30, run: () => clockCheck.check() },
    { name: 'high-water', everySeconds: 5, run: () => core.rollback.writeMark() },
    { name: 'signing-probe', everySeconds: 10, run: () => core.keyCheck.check() },
    ...(core.operatorsFile === undefined
      ? []
      : [{ name: 'operators-file', everySeconds: 5, run: () => refreshOperators(core) }]),
    { name: 'operator-keys-check', everySeconds: 60, run: () => core.operatorKeysCheck.run(core) },
    {
      name: 'purge-nonces',
      everySeconds: 60,
      run: whenClockIsCorrect(clockCheck, (signal) => purgeNonces(database, purgeClock.nonces, signal)),
    },
    {
      name: 'purge-idempotency-keys',
      everySeconds: 600,
      run: whenClockIsCorrect(clockCheck, (signal) =>
        purgeStoredResponses(database, writeSortable(purgeClock.daily.now()), signal),
      ),
    },
    // Before the other jobs, which use it to remove rows.
    { name: 'purge-clock', everySeconds: 60, run: whenClockIsCorrect(clockCheck, () => storePurgeClocks(core)) },
    {
      name: 'audit-removal',
      everySeconds: 600,
      run: whenClockIsCorrect(clockCheck, (signal) => removeForwardedEvents({ ...core, settings }, signal)),
    },
    { name: 'refusal-summaries', everySeconds: 60, run: () => core.audit.recordLeftOut() },
    { name: 'audit-subjects', everySeconds: 60, run: (signal) => indexOldSubjects(core, signal) },
    { name: 'audit-partitions', everySeconds: 60, run: (signal) => keepAuditPartitions(core, signal) },
    { name: 'table-rows', everySeconds: 3600, run: whenClockIsCorrect(clockCheck, () => sampleRows(core)) },
    {
      name: 'purge-limiter-windows',
      everySeconds: 60,
      run: (signal) => purgeLimiterWindows(database, core.clock, signal),
    },
  ]
}

async function refreshOperators(core: Core): Promise<void> {
  await core.operatorsFile?.refresh()
  await core.operatorKeysCheck.runIfChanged(core)
}
