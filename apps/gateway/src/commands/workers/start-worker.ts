import { ReportedLimiter, SupervisedLimiter, startJobs, systemClock, systemIds } from '@chancery/service-kit'
import type { Log, RunningService, WorkerStart } from '@chancery/service-kit'
import { serveGateway } from '../../app.ts'
import { RedisQuota } from '../../quota/redis-quota.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { refusedRequests } from '../../startup/core-jobs.ts'
import { assembleCore, chooseQuota } from '../../startup/open-core.ts'
import { type RefreshResult, RefreshResults } from '../../trust/unread-list.ts'
import { FollowedTrust } from '../../workers/followed-trust.ts'
import { LeaseHolder, RemoteQuota, RemoteState } from '../../workers/lease-holder.ts'
import type { GatewayBegin } from '../../workers/trust-messages.ts'

const PASS_SUMS_SECONDS = 10
const PASS_SUMS_MS = 5000

/**
 * Starts one of several workers. It listens and answers. What must exist once is in the supervisor: the state file, the
 * refresh of the lists, the counters of quotas and spent proofs, and the delivery of the audit.
 */
export async function startWorker(
  settings: GatewaySettings,
  { begin, channel, restarts, shareMetrics }: WorkerStart<GatewayBegin>,
  { log, version }: { readonly log: Log; readonly version: string },
): Promise<RunningService> {
  const lease = new LeaseHolder(begin.lease, channel)
  // Follows from here on: a change that arrives during the start is not lost.
  const trust = begin.trust === undefined ? undefined : new FollowedTrust(settings, begin.trust, channel, lease)
  const refreshResults = new RefreshResults()
  refreshResults.restore(begin.refreshes)
  channel.serve({ refresh: (result: RefreshResult) => refreshResults.add(...result) })
  const configuration = trust?.configuration
  // Of the start of the supervisor: two workers with two Redis servers would accept one proof twice.
  const quota = chooseQuota(settings, begin.redis, { clock: systemClock, ids: systemIds, log })
  const opened = assembleCore(
    settings,
    configuration,
    { log, version },
    {
      trust,
      state: settings.stateFile === undefined ? undefined : new RemoteState(channel, lease),
      refreshResults,
      quota: quota instanceof RedisQuota ? quota : new RemoteQuota(channel),
      failures: new ReportedLimiter(systemClock, channel),
      doWorkersRestart: () => restarts.areRepeated(),
      refusalLimits: new SupervisedLimiter(systemClock, channel),
      // Without a state nothing writes them.
      passSums:
        settings.stateFile === undefined ? undefined : (sums) => channel.call('addRefusals', sums, PASS_SUMS_MS),
    },
  )
  const { core, access } = opened
  shareMetrics(core.metrics.registry)
  const served = await serveGateway(opened, configuration)
  trust?.follow((newer) => {
    if (newer === configuration) return
    access.replace(newer)
    core.authorities.update(newer.policy)
    if (newer.tls !== undefined) for (const each of served.listeners) each.replaceTls(newer.tls)
  })
  const jobs = startJobs([refusedRequests(core, PASS_SUMS_SECONDS), ...served.jobs], {
    clock: core.clock,
    log,
    metrics: core.metrics.registry,
  })
  served.logServing()
  return served.running(async () => {
    await jobs.stop()
    await core.refusals.flush()
  })
}
