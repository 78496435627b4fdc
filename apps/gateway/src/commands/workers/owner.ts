import type { JsonObject } from '@chancery/protocol'
import { collectProcessMetrics } from '@chancery/service-kit'
import type { ChannelOperations, Metrics, SettingSources, SupervisedWorker } from '@chancery/service-kit'
import type { RefusalSum } from '../../audit/refusal-audit.ts'
import type { Core } from '../../core.ts'
import type { LoadedFiles } from '../../policy/load-files.ts'
import { type Policy, filePolicyOf } from '../../policy/policy.ts'
import type { QuotaClaim, SpentProof } from '../../quota/quota.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'
import { recordOpening, startBackground } from '../../startup/background.ts'
import { type CoreOptions, openCore } from '../../startup/open-core.ts'
import { reload } from '../../startup/reload.ts'
import { type GatewayBegin, LEASE_EVERY_MS, type Lease, WorkerFollowers } from '../../workers/trust-messages.ts'

/** The part of a supervisor that owns what all workers share. */
export interface GatewayOwner {
  readonly metrics: Metrics
  /** Sends a worker its first message, between two changes. */
  begin(worker: SupervisedWorker, send: (begin: GatewayBegin) => void): Promise<void>
  operations(worker: SupervisedWorker): ChannelOperations
  onEnd(worker: SupervisedWorker): void
  reload(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the state, the lists, the quotas and their jobs in the supervisor. It alone writes the state file and fetches
 * lists; it listens on no port.
 */
export async function openOwner(
  settings: GatewaySettings,
  loaded: LoadedFiles | undefined,
  options: CoreOptions & { readonly sources: Omit<SettingSources, 'env'> },
): Promise<GatewayOwner> {
  const workers = new Set<SupervisedWorker>()
  const noteAll = (operation: string, argument: unknown): void => {
    for (const { channel } of workers) channel.note(operation, argument)
  }
  const { filesOf, followers } = openFollowers(loaded)
  const opened = await openCore(settings, loaded?.configuration, {
    ...options,
    followers,
    onRefresh: (...result) => noteAll('refresh', result),
  })
  const { core, access, trust } = opened
  const background = startBackground(opened, [])
  const processMetrics = collectProcessMetrics(core.metrics.registry, core.clock)
  await recordOpening(opened)
  const toLease = (): Lease => ({
    sentNs: process.hrtime.bigint(),
    state: core.state === undefined ? undefined : { isHealthy: core.state.isHealthy, usage: core.state.usage },
  })
  const leases = setInterval(() => noteAll('lease', toLease()), LEASE_EVERY_MS)
  const begin = (worker: SupervisedWorker, message: GatewayBegin['trust']): GatewayBegin => {
    workers.add(worker)
    return { ...atStart(core, loaded), sources: options.sources, trust: message, lease: toLease() }
  }
  return {
    metrics: core.metrics.registry,
    async begin(worker, send) {
      if (trust === undefined) send(begin(worker, undefined))
      else await trust.trust.between((current) => send(begin(worker, followers.add(worker, current))))
    },
    operations: () => operationsOf(core),
    onEnd(worker) {
      workers.delete(worker)
      followers.remove(worker)
    },
    async reload() {
      const { refresher } = background
      if (trust === undefined || refresher === undefined) core.log.warn('development mode has nothing to reload')
      else
        await reload({
          core,
          access,
          listeners: [],
          refresher,
          trust,
          onLoaded: (newer) => void filesOf.set(newer.configuration.policy, newer),
        })
    },
    async close() {
      clearInterval(leases)
      processMetrics.stop()
      await background.stop()
      await opened.close()
    },
  }
}

/** What workers may ask of the supervisor. */
function operationsOf({ state, quota, refusals }: Pick<Core, 'state' | 'quota' | 'refusals'>): ChannelOperations {
  return {
    appendEvents: (events: readonly JsonObject[]) => state?.append(...events),
    measureState: () => state?.measure(),
    findStored: ({ network, issuer }: { network: string; issuer: string }) => state?.findStored(network, issuer),
    findEvents: ({ requestId, newest }: { requestId: string; newest: number }) => state?.findEvents(requestId, newest),
    claimQuota: (claim: QuotaClaim) => quota.claim(claim),
    spendProof: ({ proof, claim }: { proof: SpentProof; claim?: QuotaClaim }) => quota.spend(proof, claim),
    probeQuota: () => quota.probe(),
    addRefusals: (sums: readonly RefusalSum[]) => {
      for (const sum of sums) refusals.add(sum)
    },
  }
}

/** The workers, and the files of each policy in use: a refused reload must not reach a worker that starts later. */
function openFollowers(loaded: LoadedFiles | undefined): {
  readonly filesOf: WeakMap<Policy, LoadedFiles>
  readonly followers: WorkerFollowers
} {
  const filesOf = new WeakMap<Policy, LoadedFiles>()
  if (loaded !== undefined) filesOf.set(loaded.configuration.policy, loaded)
  const followers = new WorkerFollowers(({ policy }) => {
    const files = filesOf.get(filePolicyOf(policy))
    if (files === undefined) throw new Error('a policy in use was read from files')
    return files
  })
  return { filesOf, followers }
}

function atStart(
  { refreshResults }: Pick<Core, 'refreshResults'>,
  loaded: LoadedFiles | undefined,
): Pick<GatewayBegin, 'refreshes' | 'redis'> {
  const { redisUrl, extraRoots = [] } = loaded?.configuration ?? {}
  return { refreshes: refreshResults.toData(), redis: loaded && { redisUrl, extraRoots } }
}
