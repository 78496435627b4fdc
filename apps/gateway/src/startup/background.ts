import type { JsonObject } from '@chancery/protocol'
import { type Job, startJobs, toError } from '@chancery/service-kit'
import { AuditDelivery } from '../audit/deliver.job.ts'
import { operatorEvent } from '../audit/request-audit.ts'
import type { Core } from '../core.ts'
import { KeyFollower } from '../trust/follow-keys.ts'
import type { OpenedTrust } from '../trust/open-trust.ts'
import { ListRefresher } from '../trust/refresh-lists.ts'
import { coreJobs } from './core-jobs.ts'
import type { OpenedCore } from './open-core.ts'

export interface Background {
  /** Undefined in development mode. */
  readonly refresher: ListRefresher | undefined
  stop(): Promise<void>
}

/** Starts the list refresh, the audit delivery and all jobs. */
export function startBackground({ core, access, trust }: OpenedCore, featureJobs: readonly Job[]): Background {
  const { clock, log, settings } = core
  const state = trust?.state
  const refresher = trust === undefined ? undefined : startRefresher(core, trust)
  const delivery =
    state === undefined || settings.auditUrl === undefined
      ? undefined
      : new AuditDelivery({
          state,
          url: new URL(settings.auditUrl),
          allowPrivate: settings.auditAllowPrivate,
          reloaded: () => ({
            token: access.configuration?.auditToken,
            extraRoots: access.configuration?.extraRoots ?? [],
          }),
          log,
        })
  const jobs = startJobs([...coreJobs({ ...core, state }), ...featureJobs], {
    clock,
    log,
    metrics: core.metrics.registry,
  })
  return {
    refresher,
    async stop() {
      await refresher?.stop()
      await delivery?.close()
      await jobs.stop()
      await core.refusals.flush()
    },
  }
}

/** Records that this process owns the state, and how many events no longer wait for a collector. */
export async function recordOpening({ core, trust }: OpenedCore): Promise<void> {
  const facts = { version: core.version, released_events: trust?.state?.released ?? 0 }
  await trust?.state?.append(operatorEvent('state_opened', facts, core))
}

function startRefresher(core: Core, { trust, listWorker, state }: OpenedTrust): ListRefresher {
  const { refreshResults, clock, log, settings, metrics } = core
  const record = (event: JsonObject): void => {
    state?.append(event).catch((thrown: unknown) => log.error('refusal not recorded', { error: toError(thrown) }))
  }
  const follower = new KeyFollower({
    trust,
    listWorker,
    state,
    clock,
    log,
    settings,
    followed: metrics.followed,
    onRefused: (facts) => record(operatorEvent('keys_refused', facts, core)),
  })
  const refresher = new ListRefresher({
    trust,
    listWorker,
    refreshResults,
    clock,
    log,
    settings,
    onRefused: ({ policy: { network, issuer } }, outcome) => {
      // An unreachable server proves nothing about a list. Metrics count it.
      if (outcome === 'unreachable' || outcome === 'equivocation' || outcome === 'state') return
      record(operatorEvent('crl_rejected', { network, issuer, outcome }, core))
    },
    followKeys: (network, signal) => follower.follow(network, signal),
  })
  refresher.startLoops()
  return refresher
}
